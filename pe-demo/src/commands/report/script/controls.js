/** Values of the sliders and choices. */

import { grouped } from "./number.js";

/** @typedef {HTMLInputElement | HTMLSelectElement} Control */

/** From a slider's steps to a number, and back. */
const scales = {
  linear: { to: (/** @type {number} */ step) => step, from: (/** @type {number} */ value) => value },
  // Hundredths of a power of ten, with three digits.
  decades: {
    to: (/** @type {number} */ step) => Number(Math.pow(10, step / 100).toPrecision(3)),
    from: (/** @type {number} */ value) => Math.round(100 * Math.log10(value)),
  },
  octaves: { to: (/** @type {number} */ step) => Math.pow(2, step), from: (/** @type {number} */ value) => Math.log2(value) },
};

const scaleOf = (/** @type {Control} */ control) => scales[/** @type {keyof typeof scales} */ (control.dataset.scale ?? "linear")];

/**
 * Returns a control's value: the number of a slider, the name of a choice.
 * @param {Control} control
 */
export const valueOf = (control) =>
  control instanceof HTMLSelectElement ? control.value : String(scaleOf(control).to(Number(control.value)));

/**
 * Returns whether a control has the value that it had when the page opened.
 * @param {Control} control
 */
export const untouched = (control) =>
  control instanceof HTMLSelectElement
    ? control.selectedOptions[0]?.defaultSelected === true
    : control.value === control.defaultValue;

/**
 * Returns a control to the value that it had when the page opened.
 * @param {Control} control
 */
export const reset = (control) => {
  if (control instanceof HTMLInputElement) control.value = control.defaultValue;
  else for (const option of control.options) option.selected = option.defaultSelected;
};

/**
 * Sets a control to a value, unless it has no such value.
 * @param {Control} control
 * @param {string} value
 */
export const setTo = (control, value) => {
  if (control instanceof HTMLInputElement) {
    const step = scaleOf(control).from(Number(value));
    if (value !== "" && Number.isFinite(step)) control.value = String(step);
  } else if ([...control.options].some((option) => option.value === value)) {
    control.value = value;
  }
};

/**
 * Writes a slider's value next to it, and for those who hear it.
 * @param {Control} control
 */
export const showValue = (control) => {
  if (control instanceof HTMLSelectElement) return;
  const text = grouped(Number(valueOf(control)));
  control.setAttribute("aria-valuetext", text);
  const output = document.getElementById(`${control.id}-value`);
  if (output) output.textContent = text;
};
