import temml from "temml";

/** A formula as a tree of MathML nodes. */
export const tree = temml.__renderToMathMLTree;
