/** Sliders, pictures, and numbers. */

import { shortNumber } from "./number.js";
import { drawCurve, drawMap, drawRings, paintTable } from "./pictures.js";
import { page } from "./sheet.js";
import { buildTable, numbersAt } from "./table.js";

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const sliders = ["position", "d_model", "base"].map((id) => /** @type {HTMLInputElement} */ (byId(id)));

// The base's slider counts hundredths of a power of ten; a base has three digits.
const baseAt = (/** @type {number} */ hundredths) => Number(Math.pow(10, hundredths / 100).toPrecision(3));

let table = buildTable(page.positions, 2, 1);

// Numbers: pe-core's while the sliders are where they were when the page opened, else computed here.
const shown = [...document.querySelectorAll("#live-numbers data")].map((data) => {
  const number = /** @type {HTMLDataElement} */ (data);
  return { name: number.closest("dd")?.id.replace("live-", "") ?? "", number, exact: number.value };
});
const source = byId("live-source");
const sources = [source.textContent, page.computed];

const draw = () => {
  const [position, d, hundredths] = sliders.map((slider) => Number(slider.value));
  const base = baseAt(hundredths);
  if (d !== table.d || base !== table.base) {
    table = buildTable(page.positions, d, base);
    paintTable(table);
  }
  [position, d, base].forEach((value, index) => {
    byId(`${sliders[index].id}-value`).textContent = String(value);
  });
  const opened = sliders.every((slider) => slider.value === slider.defaultValue);
  source.textContent = sources[opened ? 0 : 1];
  const computed = numbersAt(table, position);
  for (const { name, number, exact } of shown) {
    number.value = opened ? exact : String(computed[name]);
    number.textContent = shortNumber(Number(number.value));
  }
  drawMap(table, position);
  drawRings(table, position);
  drawCurve(table, position);
};

let waiting = false;
const soon = () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
};
for (const slider of sliders) slider.addEventListener("input", soon);
window.addEventListener("resize", soon);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
draw();
