export { Fragment, createContext, h, render } from "preact";
export { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
export { batch, computed, effect, signal, untracked } from "@preact/signals";
export { Lexer } from "marked";

import { h } from "preact";
import htm from "htm";

export const html = htm.bind(h);
