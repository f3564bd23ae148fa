export * from "preact";
export * from "preact/hooks";
export { batch, computed, effect, signal, untracked } from "@preact/signals";
export { Lexer } from "marked";
export const html: (strings: TemplateStringsArray, ...values: any[]) => any;
