/** The fixed words of questions, and how each ended. @module */
import { N_, t } from "./i18n.js";

/** The choices that Hookline itself offers; those of the model and of tools stay as they are. */
const FIXED = new Set([
  ...[N_("Allow once"), N_("Allow in this session"), N_("Allow always"), N_("Deny")],
]);

/** What is written on the button of a choice. @param {string} label */
export const choiceLabel = (label) => (FIXED.has(label) ? t(label) : label);

/**
 * How a question ended.
 * @param {{state: string, choice: string, label: string, words: string, by: string, mine: boolean}} answer
 */
export function outcome({ state, choice, label, words, by, mine }) {
  if (!by) return state === "expired" ? t("The question has expired.") : t("The question was closed.");
  if (choice !== "Deny") return mine ? t("You answered: {choice}", { choice: label }) : t("{who} answered: {choice}", { who: by, choice: label });
  if (words) return mine ? t("You denied this: {reason}", { reason: words }) : t("{who} denied this: {reason}", { who: by, reason: words });
  return mine ? t("You denied this.") : t("{who} denied this.", { who: by });
}
