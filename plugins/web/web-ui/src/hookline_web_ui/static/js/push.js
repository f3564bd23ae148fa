/** Notifications by Web Push, off until the person turns them on in the dialog. @module */
import { call } from "./api.js";
import { N_, t } from "./i18n.js";
import { element, modal } from "./shell.js";

const WORKER = "/push-worker.js";
const UNSUPPORTED = N_(
  "This browser cannot show notifications here. It needs HTTPS (or localhost); on an iPhone or iPad, add the page to the home screen first.",
);
const UNREACHED = N_("The browser could not reach its push service.");
const REFUSED = N_("The browser blocks notifications from this site. Allow them in the browser's settings for this site.");

/** @type {any} */
let policy = null;

/** The address of the worker; the only one that the policy accepts. */
function workerUrl() {
  const types = /** @type {any} */ (globalThis).trustedTypes;
  if (!types) return WORKER;
  policy ??= types.createPolicy("hookline-worker", {
    createScriptURL: (/** @type {string} */ url) => {
      if (url !== WORKER) throw new TypeError("unexpected worker");
      return url;
    },
  });
  return policy.createScriptURL(WORKER);
}

/** @param {string} key in base64url */
function bytes(key) {
  const text = atob(key.replace(/-/g, "+").replace(/_/g, "/"));
  return Uint8Array.from(text, (one) => one.charCodeAt(0));
}

/** The worker also says that one is offline, in place of the browser's own page. */
export const registerWorker = () => navigator.serviceWorker?.register(workerUrl(), { scope: "/" });

async function subscription() {
  const known = await navigator.serviceWorker.getRegistration("/");
  return known ? await known.pushManager.getSubscription() : null;
}

/** @param {string} key */
async function turnOn(key) {
  if ((await Notification.requestPermission()) !== "granted") throw new Error(t(REFUSED));
  await registerWorker();
  const worker = await navigator.serviceWorker.ready;
  const made = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) }).catch(() => {
    throw new Error(t(UNREACHED));
  });
  try {
    await store(made);
  } catch (error) {
    await made.unsubscribe(); // or it would count as on, although nothing is sent
    throw error;
  }
}

/** @param {PushSubscription} one */
const store = (one) => call("POST", "/api/push", one.toJSON());

async function turnOff() {
  const found = await subscription();
  if (!found) return;
  await call("DELETE", "/api/push", { endpoint: found.endpoint });
  await found.unsubscribe();
}

/** Show the dialog with the switch. */
export async function showNotifications() {
  if (document.querySelector("dialog[open]")) return;
  const status = element("p", { role: "status" }, "…");
  const change = /** @type {HTMLButtonElement} */ (element("button", { type: "button", class: "primary", hidden: true }));
  const close = element("button", { value: "" }, t("Close"));
  modal(
    t("Notifications"),
    element("h2", {}, t("Notifications")),
    element("p", {}, t("This browser is notified when a question waits for you or a long turn ends while no page of Hookline has the focus. The push service of the browser's maker passes the message on; it is encrypted and contains only the chat's title, or who has answered.")),
    status,
    element("form", { method: "dialog", class: "actions" }, close, change),
  );
  let key = "";
  const draw = async () => {
    const on = Boolean(await subscription());
    status.textContent = on ? t("Notifications are on in this browser.") : t("Notifications are off in this browser.");
    change.textContent = on ? t("Turn off") : t("Turn on");
    change.hidden = false;
    return on;
  };
  change.addEventListener("click", async () => {
    change.disabled = true;
    try {
      await ((await subscription()) ? turnOff() : turnOn(key));
      await draw();
    } catch (error) {
      status.textContent = `${t("Nothing was changed.")} ${/** @type {Error} */ (error).message}`;
    }
    change.disabled = false;
  });
  try {
    const state = await call("GET", "/api/push");
    key = state.key;
    if (state.problem) status.textContent = state.problem;
    else if (!("PushManager" in globalThis && navigator.serviceWorker)) status.textContent = t(UNSUPPORTED);
    else {
      // The server may not know it any more, or as another person's, who was signed in here.
      const found = await subscription();
      if (found) await store(found);
      await draw();
    }
  } catch (error) {
    status.textContent = /** @type {Error} */ (error).message;
  }
}
