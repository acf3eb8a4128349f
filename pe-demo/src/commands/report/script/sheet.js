/** A canvas with axes, and the values under the pointer. */

import { grouped, ticks } from "./number.js";

/**
 * What the program tells the page.
 * @typedef {object} Page
 * @property {number} positions rows of the table
 * @property {number} distances the last distance of rotary scores
 * @property {number[]} palette colors 0xrrggbb from -1 to 1
 * @property {string} computed the source of numbers computed here
 * @property { { text: number, tick: number } } axes pixels of a label's height and of a tick mark
 * @property { { flat: number, far: number, high: number, wide: number, centers: [number, number] } } rings the view of the circles
 */

/** @typedef { { context: CanvasRenderingContext2D, width: number, height: number } } Sheet */
/** @typedef { { left: number, top: number, right: number, bottom: number } } Area */
/** @typedef { { low: number, high: number, label?: string, text?: (value: number) => string } } Range */
/**
 * An area with the places of values in it. `nearest` returns the nearest integer on the horizontal axis.
 * @typedef { { area: Area, x: (value: number) => number, y: (value: number) => number, nearest: (x: number) => number } } Axes
 */

/**
 * What is under the pointer: words, and the place that they are about.
 * @typedef { { text: string, at: [number, number] } } Found
 */
/** @typedef {(x: number, y: number) => Found | null} Find */

/** @type {Page} */
export const page = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent ?? "");

/**
 * Returns one of the page's colors.
 * @param {string} name
 */
export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name);

/**
 * Clears a canvas, at the resolution of the screen.
 * @param {string} id
 * @returns {Sheet}
 */
export const sheet = (id) => {
  const canvas = /** @type {HTMLCanvasElement} */ (document.getElementById(id));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = `${page.axes.text}px Roboto, system-ui, sans-serif`;
  context.lineJoin = "round";
  return { context, width, height };
};

/**
 * Strokes a line through points.
 * @param {Sheet} sheet
 * @param {[number, number][]} points
 * @param {string} style
 * @param {number} [width]
 */
export const line = ({ context }, points, style, width = 1) => {
  context.strokeStyle = style;
  context.lineWidth = width;
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.stroke();
};

/**
 * Fills a disc.
 * @param {Sheet} sheet
 * @param {[number, number]} center
 * @param {number} radius
 * @param {string} style
 */
export const disc = ({ context }, [x, y], radius, style) => {
  context.fillStyle = style;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
};

/**
 * Writes a text.
 * @param {Sheet} sheet
 * @param {[number, number]} at
 * @param {string} text
 * @param {CanvasTextAlign} align
 * @param {CanvasTextBaseline} baseline
 * @param {string} [style]
 */
export const write = ({ context }, [x, y], text, align, baseline, style = color("muted")) => {
  context.fillStyle = style;
  context.textAlign = align;
  context.textBaseline = baseline;
  context.fillText(text, x, y);
};

/**
 * Draws a pair of axes with ticks, labels and, if asked for, a grid, and returns the area between them. The
 * vertical axis runs from its low end at the bottom, or at the top if `low > high`.
 * @param {Sheet} sheet
 * @param {Range} across
 * @param {Range} down
 * @param {boolean} grid
 * @returns {Axes}
 */
export const axes = (sheet, across, down, grid) => {
  const { text, tick } = page.axes;
  const area = { left: 40, top: 6, right: sheet.width - 10, bottom: sheet.height - 2 * tick - 2 * text - 6 };
  const share = (/** @type {number} */ value, /** @type {Range} */ { low, high }) => (value - low) / (high - low);
  const x = (/** @type {number} */ value) => area.left + share(value, across) * (area.right - area.left);
  const y = (/** @type {number} */ value) => area.bottom - share(value, down) * (area.bottom - area.top);
  // Positions, columns and pairs are counted: no tick between two of them.
  const inside = (/** @type {Range} */ { low, high }, /** @type {number} */ wanted) =>
    ticks(Math.min(low, high), Math.max(low, high), Math.min(Math.floor(wanted) + 1, Math.abs(high - low)));
  for (const value of inside(down, sheet.height / 44)) {
    if (grid) line(sheet, [[area.left, y(value)], [area.right, y(value)]], color("grid"));
    line(sheet, [[area.left - tick, y(value)], [area.left, y(value)]], color("axis"));
    write(sheet, [area.left - 2 * tick, y(value)], (down.text ?? grouped)(value), "right", "middle");
  }
  for (const value of inside(across, sheet.width / 75)) {
    if (grid) line(sheet, [[x(value), area.bottom], [x(value), area.top]], color("grid"));
    line(sheet, [[x(value), area.bottom], [x(value), area.bottom + tick]], color("axis"));
    write(sheet, [x(value), area.bottom + 2 * tick], (across.text ?? grouped)(value), "center", "top");
  }
  line(sheet, [[area.left, area.top], [area.left, area.bottom], [area.right, area.bottom]], color("axis"));
  write(sheet, [(area.left + area.right) / 2, sheet.height], across.label ?? "", "center", "bottom");
  const nearest = (/** @type {number} */ at) => {
    const share = (at - area.left) / (area.right - area.left);
    const value = Math.round(across.low + share * (across.high - across.low));
    return Math.min(Math.floor(across.high), Math.max(Math.ceil(across.low), value));
  };
  return { area, x, y, nearest };
};

/** @type {Map<string, Find>} */
const finders = new Map();
/** @type {Map<string, [number, number]>} */
const pointers = new Map();

/**
 * Shows what is under the pointer of a canvas, or hides it.
 * @param {string} id
 */
const showFound = (id) => {
  const box = /** @type {HTMLElement} */ (document.getElementById(`${id}-box`));
  const canvas = /** @type {HTMLElement} */ (document.getElementById(id));
  const [tip, dot] = [".tip", ".dot"].map((name) => /** @type {HTMLElement} */ (box.querySelector(name)));
  const pointer = pointers.get(id);
  const found = pointer ? (finders.get(id)?.(...pointer) ?? null) : null;
  tip.hidden = dot.hidden = found === null;
  if (!found) return;
  tip.textContent = found.text;
  const [x, y] = [canvas.offsetLeft + found.at[0], canvas.offsetTop + found.at[1]];
  const half = tip.offsetWidth / 2;
  tip.style.left = `${Math.min(Math.max(x, half + 4), box.clientWidth - half - 4)}px`;
  tip.style.top = `${y - 12 - tip.offsetHeight < 0 ? y + 12 : y - 12 - tip.offsetHeight}px`;
  dot.style.left = `${x}px`;
  dot.style.top = `${y}px`;
};

/**
 * Sets what a canvas has under the pointer.
 * @param {string} id
 * @param {Find} find
 */
export const setFinder = (id, find) => {
  finders.set(id, find);
  showFound(id);
};

for (const canvas of document.querySelectorAll("canvas")) {
  for (const name of ["tip", "dot"]) {
    const element = document.createElement("div");
    element.className = name;
    element.hidden = true;
    canvas.after(element);
  }
  const move = (/** @type {PointerEvent} */ event) => {
    pointers.set(canvas.id, [event.offsetX, event.offsetY]);
    showFound(canvas.id);
  };
  canvas.addEventListener("pointermove", move);
  canvas.addEventListener("pointerdown", move);
  canvas.addEventListener("pointerleave", () => {
    pointers.delete(canvas.id);
    showFound(canvas.id);
  });
}
