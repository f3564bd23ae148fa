/** One's own passkeys on the page of settings: list, add, remove. @module */
import { call } from "./api.js";
import { t } from "./i18n.js";
import { confirmed, element } from "./shell.js";
import { clock } from "./util.js";

const PATH = "/login/passkeys";
const place = /** @type {HTMLElement} */ (document.querySelector("[data-passkeys]"));
const status = element("p", { role: "status" });
const list = element("ul", { class: "passkeys" });
const name = /** @type {HTMLInputElement} */ (element("input", { id: "passkey-name", maxlength: "64", autocomplete: "off" }));
const add = /** @type {HTMLButtonElement} */ (element("button", { class: "primary" }, t("Add a passkey")));
const form = element(
  "form",
  { class: "form", hidden: true },
  element("div", { class: "field" }, element("label", { for: name.id }, t("Name of the new passkey")), name),
  element("div", {}, add),
);

/** @param {any} one */
function row(one) {
  const used = one.used ? t("last used {time}", { time: clock(one.used) }) : t("never used");
  const remove = async () => {
    if (!(await confirmed(t("Remove the passkey {name}?", { name: one.label }), t("Remove"), "danger"))) return;
    await attempt(async () => {
      await call("DELETE", `${PATH}/${encodeURIComponent(one.id)}`);
      status.textContent = t("The passkey was removed.");
    });
  };
  const button = element("button", { type: "button", class: "danger", click: remove, "aria-label": t("Remove the passkey {name}", { name: one.label }) }, t("Remove"));
  return element("li", {}, element("strong", {}, one.label), " ", element("span", { class: "quiet" }, used), " ", button);
}

async function draw() {
  const { passkeys, problem } = await call("GET", PATH);
  list.replaceChildren(...passkeys.map(row));
  const browser = /** @type {any} */ (globalThis).PublicKeyCredential?.parseCreationOptionsFromJSON;
  const why = problem || (browser ? "" : t("This browser cannot make passkeys here."));
  /** @type {any} */ (form).hidden = Boolean(why);
  if (why) status.textContent = why;
}

/** Do something, show what went wrong, and draw the list again. @param {() => Promise<void>} work */
async function attempt(work) {
  add.disabled = true;
  try {
    await work();
  } catch (error) {
    const failed = /** @type {Error} */ (error);
    // The browser's own errors are about the dialog that was closed, or a passkey that exists.
    if (failed.name === "InvalidStateError") status.textContent = t("This device already has a passkey for you.");
    else status.textContent = error instanceof DOMException ? t("No passkey was added.") : failed.message;
  }
  await draw().catch(() => {});
  add.disabled = false;
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(async () => {
    const given = await call("POST", `${PATH}/options`, {});
    const publicKey = /** @type {any} */ (PublicKeyCredential).parseCreationOptionsFromJSON(given);
    const credential = /** @type {any} */ (await navigator.credentials.create({ publicKey }));
    await call("POST", PATH, { label: name.value, credential: credential.toJSON() });
    name.value = "";
    status.textContent = t("The passkey was added. You can sign in with it now.");
  });
});

place.append(list, form, status);
draw().catch((error) => (status.textContent = error.message));
