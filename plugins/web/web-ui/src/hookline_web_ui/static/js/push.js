/** Notifications by Web Push, off until the person turns them on in the dialog. @module */
import { call } from "./api.js";
import { element, modal } from "./shell.js";

const WORKER = "/push-worker.js";
const UNSUPPORTED =
  "This browser cannot show notifications here. It needs HTTPS (or localhost); on an iPhone or iPad, add the page to the home screen first.";
const REFUSED = "The browser blocks notifications of this site. Allow them in its settings for this site.";

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

async function subscription() {
  const known = await navigator.serviceWorker.getRegistration("/");
  return known ? await known.pushManager.getSubscription() : null;
}

/** @param {string} key */
async function turnOn(key) {
  if ((await Notification.requestPermission()) !== "granted") throw new Error(REFUSED);
  await navigator.serviceWorker.register(workerUrl(), { scope: "/" });
  const worker = await navigator.serviceWorker.ready;
  const made = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
  await call("POST", "/api/push", made.toJSON());
}

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
  const close = element("button", { value: "" }, "Close");
  modal(
    "Notifications",
    element("h2", {}, "Notifications"),
    element("p", {}, "This browser is notified when a question waits for you or a long turn ends while no page of Hookline has the focus. The push service of the browser's maker passes the message on; it is encrypted and contains only the chat's title."),
    status,
    element("form", { method: "dialog", class: "actions" }, close, change),
  );
  let key = "";
  const draw = async () => {
    const on = Boolean(await subscription());
    status.textContent = on ? "Notifications are on in this browser." : "Notifications are off in this browser.";
    change.textContent = on ? "Turn off" : "Turn on";
    change.hidden = false;
    return on;
  };
  change.addEventListener("click", async () => {
    change.disabled = true;
    try {
      await (change.textContent === "Turn on" ? turnOn(key) : turnOff());
      await draw();
    } catch (error) {
      status.textContent = `Nothing was changed. ${/** @type {Error} */ (error).message}`;
    }
    change.disabled = false;
  });
  try {
    const state = await call("GET", "/api/push");
    key = state.key;
    if (state.problem) status.textContent = state.problem;
    else if (!("PushManager" in globalThis && navigator.serviceWorker)) status.textContent = UNSUPPORTED;
    else await draw();
  } catch (error) {
    status.textContent = /** @type {Error} */ (error).message;
  }
}
