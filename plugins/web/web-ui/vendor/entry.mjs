export { render } from "preact";
export { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
export { Lexer } from "marked";

import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
