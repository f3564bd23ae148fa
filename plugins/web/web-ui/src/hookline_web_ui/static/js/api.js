/** Requests to `/api`. @module */

/** What the server refused, or that it could not be reached (`status` 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{code?: string, message?: string, fix?: string}} told
   * @param {number} retry seconds after which to try again, or 0
   */
  constructor(status, told, retry = 0) {
    super([told.message || "Cannot reach the server.", told.fix].filter(Boolean).join(" "));
    this.status = status;
    this.code = told.code ?? "offline";
    this.retry = retry;
  }

  /** Whether the same request may succeed later. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
export async function refusal(response) {
  if (response.status === 401) dispatchEvent(new Event("expired"));
  const retry = Number(response.headers.get("Retry-After")) || 0;
  const told = await response.json().catch(() => ({}));
  const fallback = { message: `The server returned status ${response.status}.` };
  return new ApiError(response.status, told.error ?? fallback, retry);
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body] sent as JSON
 * @returns {Promise<any>} throws an {@link ApiError}
 */
export async function call(method, path, body) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new ApiError(0, {});
  }
  if (!response.ok) throw await refusal(response);
  return response.json().catch(() => ({}));
}

/**
 * Send a file, telling how far it is. `fetch` cannot, so this is the one place for XMLHttpRequest.
 * @param {string} id
 * @param {File|Blob} file
 * @param {string} name
 * @param {(share: number) => void} progress
 * @param {AbortSignal} signal
 * @returns {Promise<any>}
 */
export function upload(id, file, name, progress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const { seconds = 0 } = /** @type {any} */ (file); // of a recording made here
    const voice = seconds ? `&voice=1&duration=${seconds}` : "";
    request.open("PUT", `/api/files/${id}?name=${encodeURIComponent(name)}${voice}`);
    request.responseType = "json";
    request.upload.onprogress = (event) => progress(event.loaded / (event.total || 1));
    request.onload = () => {
      const told = request.response ?? {};
      if (request.status < 300) resolve(told);
      else reject(new ApiError(request.status, told.error ?? { message: "The upload failed." }));
    };
    request.onerror = () => reject(new ApiError(0, {}));
    request.onabort = () => reject(new ApiError(0, { code: "aborted", message: "Not sent." }));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
