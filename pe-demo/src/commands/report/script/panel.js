/** A sheet with controls: its values, its numbers, and its play buttons. */

import { noteChange } from "./address.js";
import { showValue, untouched, valueOf } from "./controls.js";
import { shortNumber } from "./number.js";
import { page } from "./sheet.js";

/** Milliseconds in which a slider is played from one end to the other. */
const SWEEP = 12000;

/**
 * The values of a sheet's controls by name.
 * @typedef {Record<string, string>} Values
 */

/**
 * Moves a slider while its button is pressed.
 * @param {HTMLButtonElement} button
 * @param {() => void} moved
 */
const bindPlay = (button, moved) => {
  const slider = /** @type {HTMLInputElement} */ (document.getElementById(button.dataset.slider ?? ""));
  const label = button.getAttribute("aria-label") ?? "";
  let playing = false;
  const set = (/** @type {boolean} */ on) => {
    playing = on;
    button.textContent = on ? "Pause" : "Play";
    button.setAttribute("aria-label", on ? label.replace("Play", "Pause") : label);
  };
  const [low, high] = [Number(slider.min), Number(slider.max)];
  const run = () => {
    let at = Number(slider.value);
    let before = performance.now();
    const frame = (/** @type {number} */ now) => {
      if (!playing) return;
      at += ((now - before) / SWEEP) * (high - low);
      before = now;
      if (at > high) at = low;
      if (Math.floor(at) !== Number(slider.value)) {
        slider.value = String(Math.floor(at));
        moved();
      }
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  };
  button.addEventListener("click", () => {
    set(!playing);
    if (playing) run();
  });
  // A hand on the slider ends the play.
  slider.addEventListener("input", () => set(false));
};

/**
 * Binds a sheet, and returns what draws it again.
 * @param {string} id the sheet
 * @param {string} place where the sheet is on the page
 * @param {(values: Values) => Record<string, number>} draw draws the pictures and returns the numbers
 */
export const bindPanel = (id, place, draw) => {
  const sheet = /** @type {HTMLElement} */ (document.getElementById(id));
  const controls = /** @type {import("./controls.js").Control[]} */ ([...sheet.querySelectorAll(".control input, .control select")]);
  const source = /** @type {HTMLElement} */ (sheet.querySelector(".source"));
  const sources = [source.textContent, page.computed];
  // Numbers: pe-core's while the controls are where they were when the page opened, else computed here.
  const shown = [...sheet.querySelectorAll("dl data")].map((data) => {
    const number = /** @type {HTMLDataElement} */ (data);
    return { name: number.closest("dd")?.id.replace("live-", "") ?? "", number, exact: number.value };
  });
  const update = () => {
    controls.forEach(showValue);
    const computed = draw(Object.fromEntries(controls.map((control) => [control.id, valueOf(control)])));
    const opened = controls.every(untouched);
    source.textContent = sources[opened ? 0 : 1];
    for (const { name, number, exact } of shown) {
      number.value = opened ? exact : String(computed[name]);
      number.textContent = shortNumber(Number(number.value));
    }
  };
  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      update();
    });
  };
  const moved = () => {
    noteChange(place);
    soon();
  };
  for (const control of controls) control.addEventListener("input", moved);
  for (const button of sheet.querySelectorAll("button.play")) bindPlay(/** @type {HTMLButtonElement} */ (button), moved);
  update();
  return soon;
};
