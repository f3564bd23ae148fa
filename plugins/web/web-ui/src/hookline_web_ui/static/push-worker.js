/** The service worker: shows notifications, unless a page of this site has the focus, says that one is offline, and keeps what is shared with the app until a chat takes it. @module */

/**
 * Show a message, or replace the one with its tag. One that `closes` another makes no sound; it cannot
 * only remove it, because browsers demand that each push shows something unless a page has the focus.
 * @param {any} message
 */
async function show(message) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const tag = String(message.tag ?? "");
  if (pages.some((/** @type {any} */ page) => page.focused)) {
    const stale = message.closes ? await self.registration.getNotifications({ tag }) : [];
    for (const one of stale) one.close();
    return;
  }
  await self.registration.showNotification("Hookline", {
    body: String(message.body ?? ""),
    tag,
    silent: Boolean(message.closes),
    data: { path: String(message.path ?? "/") },
  });
}

/** @param {any} notification */
async function open(notification) {
  const at = new URL(notification.data?.path ?? "/", self.location.origin);
  if (at.origin !== self.location.origin) return;
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const known = pages.find((/** @type {any} */ page) => new URL(page.url).pathname === at.pathname);
  await (known ? known.focus() : self.clients.openWindow(at.href));
}

self.addEventListener("push", (/** @type {any} */ event) => event.waitUntil(show(event.data.json())));
self.addEventListener("notificationclick", (/** @type {any} */ event) => {
  event.notification.close();
  event.waitUntil(open(event.notification));
});

const OFFLINE = /** @type {Record<string, string>} */ ({
  en: "You are offline. Hookline appears here when its server can be reached again.",
  de: "Du bist offline. Hookline erscheint hier, sobald der Server wieder erreichbar ist.",
  zh: "你已离线。服务器恢复连接后，Hookline 会显示在这里。",
});

function offline() {
  const text = OFFLINE[self.navigator.language.split("-")[0]] ?? OFFLINE.en;
  const page = `<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><meta http-equiv="refresh" content="5"><title>Hookline</title><h1>Hookline</h1><p>${text}</p>`;
  return new Response(page, { status: 503, headers: { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": "default-src 'none'" } });
}

/**
 * Keep texts and files that another app shares, until a chat takes them (`shared.js`): the person may
 * have to sign in first. @param {Request} request
 */
async function keepShared(request) {
  const form = await request.formData();
  const kept = await caches.open("shared");
  const text = ["title", "text", "url"].map((name) => form.get(name)).filter(Boolean).join("\n");
  const parts = [...form.getAll("files"), ...(text ? [text] : [])];
  for (const part of parts) {
    const headers = part instanceof File ? { "X-Name": encodeURIComponent(part.name), "Content-Type": part.type } : {};
    await kept.put(`/share/${crypto.randomUUID()}`, new Response(part, { headers: /** @type {any} */ (headers) }));
  }
  return Response.redirect("/", 303);
}

self.addEventListener("fetch", (/** @type {any} */ event) => {
  const { mode, method, url, headers } = event.request;
  if (mode !== "navigate") return;
  // The system shares without an origin, as "null". The server refuses the form of another site.
  const isForeign = ![null, "null", self.location.origin].includes(headers.get("origin"));
  const isShared = method === "POST" && new URL(url).pathname === "/share" && !isForeign;
  // The server's page at this path says that nothing has arrived.
  const kept = isShared && keepShared(event.request).catch(() => Response.redirect("/share", 303));
  event.respondWith(kept || fetch(event.request).catch(offline));
});
