/** Requests to `/api`. @module */
import { t } from "./i18n.js";

/** The server refused a request, or could not be reached (`status` 0). */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{code?: string, message?: string, fix?: string}} problem
   * @param {number} retry seconds after which to try again, or 0
   */
  constructor(status, problem, retry = 0) {
    super([problem.message || t("Cannot reach the server."), problem.fix].filter(Boolean).join(" "));
    this.status = status;
    this.code = problem.code ?? "offline";
    this.retry = retry;
  }

  /** Whether the same request may succeed later. */
  get temporary() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
export async function errorFrom(response) {
  if (response.status === 401) dispatchEvent(new Event("expired"));
  const retry = Number(response.headers.get("Retry-After")) || 0;
  const body = await response.json().catch(() => ({}));
  const fallback = { message: t("The server returned status {status}.", { status: `${response.status}` }) };
  return new ApiError(response.status, body.error ?? fallback, retry);
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
  if (!response.ok) throw await errorFrom(response);
  return response.json().catch(() => ({}));
}

/** Why a file did not reach the server: a browser does not tell if it cannot read it. @param {Blob} file @param {string} name */
export async function unsent(file, name) {
  const isReadable = await file.slice(0, 1).arrayBuffer().then(() => true, () => false);
  return new ApiError(0, isReadable ? {} : { message: t("“{name}” cannot be read. Only files can be sent, not folders.", { name }) });
}

/**
 * Upload a file and report progress, which `fetch` cannot do; hence XMLHttpRequest.
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
      const body = request.response ?? {};
      if (request.status < 300) resolve(body);
      else reject(new ApiError(request.status, body.error ?? { message: t("The upload failed.") }));
    };
    request.onerror = () => unsent(file, name).then(reject);
    request.onabort = () => reject(new ApiError(0, { code: "aborted", message: t("Not sent.") }));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}
