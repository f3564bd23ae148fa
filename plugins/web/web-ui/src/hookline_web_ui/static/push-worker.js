/** The service worker: shows notifications, unless a page of this site has the focus. @module */

/** @param {any} message */
async function show(message) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (pages.some((/** @type {any} */ page) => page.focused)) return;
  await self.registration.showNotification("Hookline", {
    body: String(message.body ?? ""),
    tag: String(message.tag ?? ""),
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
