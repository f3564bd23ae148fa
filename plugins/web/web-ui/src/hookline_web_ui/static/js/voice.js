/** Recording of voice messages. @module */
import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { t } from "./i18n.js";

/** Whether the browser can record; it may only on HTTPS and loopback. */
export const canRecord = () => "mediaDevices" in navigator && "MediaRecorder" in globalThis;

const KINDS = ["audio/webm;codecs=opus", "audio/ogg;codecs=opus", "audio/mp4"];

/**
 * A button that records while it is held, or from one press to the next.
 * @param {{attach: (files: File[]) => void, fail: (text: string) => void}} props
 */
export function Recorder({ attach, fail }) {
  const [on, setOn] = useState(false);
  const recorder = useRef(/** @type {any} */ (null));
  const began = useRef(0);
  useEffect(() => () => recorder.current?.stop(), []);
  const start = async () => {
    began.current = Infinity; // until the microphone is there
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      const mimeType = KINDS.find((kind) => MediaRecorder.isTypeSupported(kind));
      const made = new MediaRecorder(stream, { mimeType });
      /** @type {Blob[]} */
      const parts = [];
      made.ondataavailable = (event) => parts.push(event.data);
      made.onstop = () => {
        for (const track of stream.getTracks()) track.stop();
        setOn(false);
        recorder.current = null;
        const type = made.mimeType.split(";")[0];
        const suffix = { "audio/mp4": "m4a", "audio/ogg": "ogg" }[type] ?? "webm";
        const blob = new Blob(parts, { type });
        const seconds = Math.max((Date.now() - began.current) / 1000, 0.1);
        if (!blob.size) return fail(t("Nothing was recorded. Try again."));
        attach([Object.assign(new File([blob], `voice.${suffix}`, { type }), { seconds })]);
      };
      began.current = Date.now();
      made.start();
      recorder.current = made;
      setOn(true);
    } catch {
      fail(t("Cannot use the microphone. Allow it for this site in the browser's settings."));
    }
  };
  const down = () => (on ? recorder.current?.stop() : start());
  const up = () => {
    if (on && Date.now() - began.current > 600) recorder.current?.stop();
  };
  return html`<button
    type="button"
    class=${`plain icon${on ? " recording" : ""}`}
    aria-label=${on ? t("Stop recording") : t("Record")}
    title=${t("Hold to talk, or press to start and stop")}
    aria-pressed=${on ? "true" : "false"}
    onPointerDown=${(/** @type {PointerEvent} */ e) => e.button === 0 && down()}
    onPointerUp=${up}
    onKeyDown=${(/** @type {KeyboardEvent} */ e) => {
      if ((e.key === "Enter" || e.key === " ") && !e.repeat) {
        e.preventDefault();
        down();
      }
    }}
  >
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <rect x="9" y="3" width="6" height="11" rx="3" />
      <path d="M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3" />
    </svg>
  </button>`;
}
