// Signs in with the code in the URL's fragment. The browser never sends the fragment, and it is
// cleared at once, so that it does not stay in the history.
const at = (id) => document.getElementById(id);
const requested = new URLSearchParams(location.search).get("next") ?? "/";
// Only a path of this server; the server checks it again.
const next = /^\/(?![/\\])[^\\\s]*$/.test(requested) ? requested : "/";

const messages = JSON.parse(document.documentElement.dataset.messages ?? "{}");
const t = (sentence) => messages[sentence] ?? sentence;

const extractCode = (text) => text.trim().split("#").pop().trim();

function show(text, fix = "") {
  at("status").textContent = text;
  at("fix").textContent = fix;
  at("fix").hidden = !fix;
}

function showButton(label, onPress) {
  at("go").textContent = label;
  at("go").onclick = onPress;
  at("actions").hidden = false;
  at("go").focus();
}

async function login(code, more = {}) {
  at("actions").hidden = true;
  at("how").hidden = true;
  show(t("Signing in…"));
  let response;
  try {
    response = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ code, next, ...more }),
    });
  } catch {
    show(t("Cannot reach the server."), t("Check that the gateway is running and that you are online."));
    showButton(t("Try again"), () => login(code, more));
    return;
  }
  const body = await response.json().catch(() => ({}));
  if (response.ok) {
    location.replace(body.next);
    return;
  }
  const isBadLink = response.status === 401;
  show(body.error?.message ?? t("Something went wrong."), isBadLink ? "" : body.error?.fix);
  if (response.status === 409) showButton(t("Use the link"), () => login(code, { switch: true }));
  else if (response.status === 429 || response.status >= 500) showButton(t("Try again"), () => login(code, more));
  else at("how").hidden = false;
}

async function start() {
  const code = extractCode(location.hash);
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    await login(code);
    return;
  }
  try {
    // After a link from another site this request has the cookie, which the page load did not.
    const who = await (await fetch("/login/who", { headers: { Accept: "application/json" } })).json();
    if (who.name) {
      location.replace(next);
      return;
    }
  } catch {
    // Show how to sign in.
  }
  show(t("You are not signed in."));
  at("how").hidden = false;
  await offerPasskey();
}

async function offerPasskey() {
  if (!globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON) return;
  const answer = await fetch("/login/passkey", { headers: { Accept: "application/json" } }).catch(() => null);
  at("passkey").hidden = !(answer?.ok && (await answer.json()).offered);
}

/** POST JSON; the answer's body. Throws an error with a sentence. */
async function post(path, value) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json" },
    body: JSON.stringify(value),
  });
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  throw new Error([body.error?.message ?? t("Something went wrong."), body.error?.fix].filter(Boolean).join(" "));
}

async function loginWithPasskey() {
  show(t("Signing in…"));
  try {
    const options = PublicKeyCredential.parseRequestOptionsFromJSON(await post("/login/passkey/options", {}));
    const credential = await navigator.credentials.get({ publicKey: options });
    const { next: path } = await post("/login/passkey", { credential: credential.toJSON(), next });
    location.replace(path);
  } catch (error) {
    // The browser's own errors are about the dialog that was closed.
    show(error instanceof DOMException ? t("No passkey was used.") : error.message);
  }
}

at("passkey").firstElementChild.addEventListener("click", loginWithPasskey);

at("paste").addEventListener("submit", (event) => {
  event.preventDefault();
  const code = extractCode(at("link").value);
  if (code) login(code);
});
addEventListener("hashchange", start);
start();
