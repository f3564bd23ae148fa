// Signs in with the code in the URL's fragment. The browser never sends the fragment, and it is
// cleared at once, so that it does not stay in the history.
const at = (id) => document.getElementById(id);
const requested = new URLSearchParams(location.search).get("next") ?? "/";
// Only a path of this server; the server checks it again.
const next = /^\/(?![/\\])[^\\\s]*$/.test(requested) ? requested : "/";

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
  show("Signing in…");
  let response;
  try {
    response = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ code, next, ...more }),
    });
  } catch {
    show("Cannot reach the server.", "Check that the gateway is running and that you are online.");
    showButton("Try again", () => login(code, more));
    return;
  }
  const body = await response.json().catch(() => ({}));
  if (response.ok) {
    location.replace(body.next);
    return;
  }
  const isBadLink = response.status === 401;
  show(body.error?.message ?? "Something went wrong.", isBadLink ? "" : body.error?.fix);
  if (response.status === 409) showButton("Use the link", () => login(code, { switch: true }));
  else if (response.status === 429 || response.status >= 500) showButton("Try again", () => login(code, more));
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
  show("You are not signed in.");
  at("how").hidden = false;
}

at("paste").addEventListener("submit", (event) => {
  event.preventDefault();
  const code = extractCode(at("link").value);
  if (code) login(code);
});
addEventListener("hashchange", start);
start();
