export * from "preact";
export * from "preact/hooks";
export { Lexer } from "marked";
export const html: (strings: TemplateStringsArray, ...values: any[]) => any;
