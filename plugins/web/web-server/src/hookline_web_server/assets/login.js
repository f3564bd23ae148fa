// Logs in with the code behind the address's #, which is cleared at once: it is no part of what the
// browser sends, and must not stay in its history.
const at = (id) => document.getElementById(id);
const wanted = new URLSearchParams(location.search).get("next") ?? "/";
// Only a path of this server; the server checks it again.
const next = /^\/(?![/\\])[^\\\s]*$/.test(wanted) ? wanted : "/";

const codeOf = (text) => text.trim().split("#").pop().trim();

function show(text, fix = "") {
  at("status").textContent = text;
  at("fix").textContent = fix;
  at("fix").hidden = !fix;
}

function offer(label, press) {
  at("go").textContent = label;
  at("go").onclick = press;
  at("actions").hidden = false;
  at("go").focus();
}

async function login(code, more = {}) {
  at("actions").hidden = true;
  at("how").hidden = true;
  show("Logging in…");
  let response;
  try {
    response = await fetch("/login", {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify({ code, next, ...more }),
    });
  } catch {
    show("The server cannot be reached.", "Is the gateway running, and are you online?");
    offer("Try again", () => login(code, more));
    return;
  }
  const told = await response.json().catch(() => ({}));
  if (response.ok) {
    location.replace(told.next);
    return;
  }
  const isNoLink = response.status === 401;
  show(told.error?.message ?? "That did not work.", isNoLink ? "" : told.error?.fix);
  if (response.status === 409) offer("Log in by the link", () => login(code, { switch: true }));
  else if (response.status === 429 || response.status >= 500) offer("Try again", () => login(code, more));
  else at("how").hidden = false;
}

async function begin() {
  const code = codeOf(location.hash);
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    await login(code);
    return;
  }
  try {
    // A link from another site brings no cookie; a request from here does.
    const who = await (await fetch("/login/who", { headers: { Accept: "application/json" } })).json();
    if (who.name) {
      location.replace(next);
      return;
    }
  } catch {
    // Then what to do is shown all the same.
  }
  show("You are not logged in.");
  at("how").hidden = false;
}

at("paste").addEventListener("submit", (event) => {
  event.preventDefault();
  const code = codeOf(at("link").value);
  if (code) login(code);
});
addEventListener("hashchange", begin);
begin();
