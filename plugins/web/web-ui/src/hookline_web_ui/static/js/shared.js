/** What another app has shared with this one, and the service worker has kept. @module */

/**
 * Put it into the message box. It stays kept until each file is uploaded or taken out, so that a reload
 * loses nothing; of several tabs one takes it.
 * @param {(text: string, files: any[], uploads: File[]) => void} give
 */
export const takeShared = (give) =>
  navigator.locks.request("shared", { ifAvailable: true }, async (lock) => {
    if (!lock) return;
    const kept = await caches.open("shared");
    const texts = [];
    /** @type {File[]} */
    const files = [];
    const ended = [];
    for (const request of await kept.keys()) {
      const response = /** @type {Response} */ (await kept.match(request));
      const name = response.headers.get("X-Name");
      if (name == null) {
        texts.push(await response.text());
        await kept.delete(request);
        continue;
      }
      const blob = await response.blob();
      const file = new File([blob], decodeURIComponent(name), { type: blob.type });
      ended.push(new Promise((done) => files.push(Object.assign(file, { forget: () => done(kept.delete(request)) }))));
    }
    give(texts.join("\n\n"), [], files);
    await Promise.all(ended);
    if (!(await kept.keys()).length) await caches.delete("shared");
  });
