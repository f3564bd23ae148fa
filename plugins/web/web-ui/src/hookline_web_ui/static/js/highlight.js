/** Splits code into tokens to colour, with one pattern for each language. @module */

/** @typedef {{kind: string, text: string}} CodeToken a kind is "" or a class `code-KIND` of the style sheet */

const END = "(?![^])";
const BLOCK_COMMENT = `/\\*[^]*?(?:\\*/|${END})`;
const SLASH_COMMENT = `//.*|${BLOCK_COMMENT}`;
const HASH_COMMENT = "(?<=^|\\s)#.*";
const DOUBLE = '"(?:[^"\\\\\\n]|\\\\.)*"?';
const SINGLE = "'(?:[^'\\\\\\n]|\\\\.)*'?";
const QUOTED = `${DOUBLE}|${SINGLE}`;
const TEMPLATE = `\`(?:[^\`\\\\]|\\\\[^])*(?:\`|${END})`;
const TRIPLE = `[rbfuRBFU]{0,2}(?:"""[^]*?(?:"""|${END})|'''[^]*?(?:'''|${END})|${QUOTED})`;
const NUMBER = "\\b(?:0[xX][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\w*%?";
const WORD = "[\\p{L}_$][\\p{L}\\p{N}_$]*";
const LITERALS = "true false null nil none undefined nan self this super";

/**
 * @typedef {object} Language
 * @property {Array<[string, string]>} rules kinds and patterns without groups; the first that matches counts
 * @property {Set<string>} keywords
 * @property {boolean} [anyCase] whether keywords are written in any case
 */

/** @param {Array<[string, string]>} rules @param {string} [keywords] @param {boolean} [anyCase] @returns {Language} */
const language = (rules, keywords = "", anyCase = false) => ({ rules, keywords: new Set(keywords.split(" ")), anyCase });

/** A language with words, numbers, and these comments and strings. @param {string} comment @param {string} string @param {string} keywords */
const program = (comment, string, keywords) =>
  language([["comment", comment], ["string", string], ["meta", "@[\\p{L}_][\\w.]*"], ["number", NUMBER], ["word", WORD]], keywords);

const C_LIKE =
  "abstract as async await auto base bool boolean break byte case catch chan char class companion const constexpr continue crate data default defer delete do double dyn else enum explicit export extends extern fallthrough final finally float fn for foreach fun func function go goto guard if impl implements import in init inline instanceof int interface internal is let lock long loop match mod move mut namespace native new object open operator out override package private protected protocol pub public range readonly record ref return sealed select short signed sizeof static string struct suspend switch synchronized template throw throws trait try type typedef typename union unsafe unsigned use using val var virtual void volatile when where while with yield";
const SQL =
  "add all alter and as asc begin between by case check column commit constraint create cross database default delete desc distinct drop else end except exists explain foreign from full function group having if in index inner insert intersect into is join key left like limit not null offset on or order outer over partition pragma primary references returning right rollback select set table then transaction trigger union unique update using values view when where with bigint blob boolean char date decimal float int integer json numeric real serial smallint text timestamp varchar";
const C_PROGRAM = program(SLASH_COMMENT, `${QUOTED}|${TEMPLATE}`, C_LIKE);
const MARKUP = language([
  ["comment", `<!--[^]*?(?:-->|${END})|<![^>]*>?`],
  ["keyword", "</?[\\p{L}][\\w:.-]*|/?>"],
  ["name", "(?<=\\s)[\\w:@.-]{1,60}(?==[\"'])"],
  ["string", '(?<==)(?:"[^"]*"?|\'[^\']*\'?)'],
  ["literal", "&#?\\w+;"],
]);

/** @type {Record<string, Language>} */
const LANGUAGES = {
  bash: language(
    [["comment", HASH_COMMENT], ["name", "\\$(?:\\{[^}\\n]*\\}?|[\\w@#?*!$]+)"], ["string", QUOTED], ["meta", "(?<=\\s)--?[\\p{L}][\\w-]*"], ["number", NUMBER], ["word", "[\\p{L}_][\\w-]*"]],
    "if then else elif fi for while until do done case esac in function return local export readonly declare set unset source alias cd echo exit trap eval exec sudo",
  ),
  css: language([
    ["comment", BLOCK_COMMENT],
    ["string", QUOTED],
    ["keyword", "@[\\w-]+|!important"],
    ["number", "#[\\da-fA-F]{3,8}\\b|\\b\\d*\\.?\\d+(?:[a-z]+|%)?"],
    ["name", "--[\\w-]+|(?<![\\w-])[\\w-]{1,60}(?=[ \\t]{0,20}:\\s)"],
    ["type", "[.#][\\p{L}_-][\\w-]*"],
    ["function", "(?<![\\w-])[\\w-]{1,60}(?=\\()"],
  ]),
  diff: language([["meta", "^(?:@@|diff |index |--- |\\+\\+\\+ ).*"], ["added", "^\\+.*"], ["removed", "^-.*"]]),
  docker: language(
    [["comment", HASH_COMMENT], ["string", QUOTED], ["name", "\\$\\{?\\w+\\}?"], ["keyword", "^[A-Z]+(?=\\s)|\\bAS\\b"], ["number", NUMBER]],
  ),
  ini: language(
    [["comment", "^[ \\t]*[#;].*|(?<=\\s)#.*"], ["type", "^[ \\t]*\\[.*\\]"], ["name", "^[ \\t]*[\\w.\"-]+(?=[ \\t]*=)"], ["string", TRIPLE], ["number", NUMBER], ["word", WORD]],
  ),
  javascript: program(
    SLASH_COMMENT, `${QUOTED}|${TEMPLATE}`,
    "abstract any as async await boolean break case catch class const continue debugger declare default delete do else enum export extends finally for from function get if implements import in infer instanceof interface is keyof let namespace never new number object of private protected public readonly return satisfies set static string switch throw try type typeof unknown var void while with yield",
  ),
  json: language([["comment", SLASH_COMMENT], ["name", `(?:${DOUBLE})(?=\\s{0,20}:)`], ["string", DOUBLE], ["number", `-?${NUMBER}`], ["word", WORD]]),
  lua: program(`--\\[\\[[^]*?(?:\\]\\]|${END})|--.*`, QUOTED, "and break do else elseif end for function goto if in local not or repeat return then until while"),
  php: program(`${SLASH_COMMENT}|${HASH_COMMENT}`, QUOTED, `${C_LIKE} echo elseif endif endforeach endwhile global include isset list require array print`),
  python: program(
    "#.*", TRIPLE,
    "and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try type while with yield",
  ),
  ruby: program("#.*", QUOTED, "alias and begin break case class def do else elsif end ensure for if in module next not or redo require rescue retry return then undef unless until when while yield attr_accessor attr_reader"),
  sql: language([["comment", `--.*|${BLOCK_COMMENT}`], ["string", "'(?:[^']|'')*'?"], ["name", '"[^"\\n]*"?'], ["number", NUMBER], ["word", WORD]], SQL, true),
  yaml: language([
    ["comment", HASH_COMMENT],
    ["name", "(?<=^[ \\t]{0,40}(?:- {1,3}){0,3})[\\w./\"'$@][\\w./\"'$@ -]{0,80}(?=:(?:\\s|$))"],
    ["string", QUOTED],
    ["meta", "^---$|(?<=\\s)[&*!][\\w.-]+"],
    ["number", "(?<=[\\s[,])-?\\d[\\d_.]*(?=\\s|[\\],]|$)"],
    ["literal", "(?<=[\\s[,])(?:true|false|null|yes|no|on|off)(?=\\s|[\\],]|$)"],
  ]),
};

/** Names of languages that are written in a code block, and the language above that colours them. */
const ALIASES =
  "sh:bash shell:bash zsh:bash console:bash scss:css less:css patch:diff dockerfile:docker toml:ini cfg:ini conf:ini js:javascript jsx:javascript mjs:javascript ts:javascript tsx:javascript typescript:javascript json5:json jsonc:json jsonl:json py:python python3:python rb:ruby yml:yaml postgresql:sql mysql:sql sqlite:sql";
/** @type {Map<string, Language>} */
const BY_NAME = new Map(Object.entries(LANGUAGES));
for (const name of "c cpp c++ h hpp csharp cs go golang java kotlin kt rust rs scala swift dart".split(" ")) BY_NAME.set(name, C_PROGRAM);
for (const name of "html xml svg vue xhtml".split(" ")) BY_NAME.set(name, MARKUP);
for (const [name, target] of ALIASES.split(" ").map((one) => one.split(":"))) BY_NAME.set(name, LANGUAGES[target]);

/** The names of all languages that can be coloured. */
export const names = [...BY_NAME.keys()];

/** @type {Map<Language, RegExp>} */
const patterns = new Map();
/** @param {Language} known */
function pattern(known) {
  let made = patterns.get(known);
  if (!made) patterns.set(known, (made = new RegExp(known.rules.map(([, source]) => `(${source})`).join("|"), "gmu")));
  return made;
}

/** @param {Language} known @param {string} word @param {string} next the text after it @returns {string} */
function kindOf(known, word, next) {
  const plain = known.anyCase ? word.toLowerCase() : word;
  if (known.keywords.has(plain)) return "keyword";
  if (` ${LITERALS} `.includes(` ${word.toLowerCase()} `)) return "literal";
  if (/^\s?\(/.test(next)) return "function";
  return /^\p{Lu}/u.test(word) ? "type" : "";
}

/**
 * Return the tokens of a code, whose texts together are the code; one token for an unknown language.
 * @param {string} text @param {string} name @returns {CodeToken[]}
 */
export function highlight(text, name) {
  const known = BY_NAME.get(name.toLowerCase());
  if (!known) return [{ kind: "", text }];
  /** @type {CodeToken[]} */
  const tokens = [];
  const put = (/** @type {string} */ kind, /** @type {string} */ part) => {
    const last = tokens.at(-1);
    if (last?.kind === kind) last.text += part;
    else if (part) tokens.push({ kind, text: part });
  };
  let end = 0;
  for (const match of text.matchAll(pattern(known))) {
    put("", text.slice(end, match.index));
    end = match.index + match[0].length;
    const [kind] = known.rules[match.slice(1).findIndex((group) => group !== undefined)];
    put(kind === "word" ? kindOf(known, match[0], text.slice(end, end + 2)) : kind, match[0]);
  }
  put("", text.slice(end));
  return tokens;
}
