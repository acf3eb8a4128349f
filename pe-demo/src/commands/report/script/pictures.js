/** The three pictures of the table. */

import { shortNumber } from "./number.js";
import { axes, color, disc, line, page, setFinder, sheet, write } from "./sheet.js";
import { dot } from "./table.js";

/** @typedef {import("./table.js").Table} Table */

/** The whole table, one pixel per entry; it is painted when the table changes. */
const painted = document.createElement("canvas");

/**
 * Paints every entry of a table.
 * @param {Table} table
 */
export const paintTable = ({ rows, d, pairs, sin, cos }) => {
  painted.width = d;
  painted.height = rows;
  const context = /** @type {CanvasRenderingContext2D} */ (painted.getContext("2d"));
  const image = context.createImageData(d, rows);
  const pixels = new DataView(image.data.buffer);
  for (let p = 0; p < rows; p += 1) {
    for (let column = 0; column < d; column += 1) {
      const value = (column % 2 === 0 ? sin : cos)[p * pairs + (column >> 1)];
      const rgb = page.palette[128 + Math.round(value * 127)];
      pixels.setUint32(4 * (p * d + column), ((rgb << 8) | 0xff) >>> 0);
    }
  }
  context.putImageData(image, 0, 0);
};

/**
 * Draws the table with a frame around the chosen position.
 * @param {Table} table
 * @param {number} position
 */
export const drawMap = ({ rows, d, pairs, sin, cos }, position) => {
  const canvas = sheet("map");
  const { context } = canvas;
  const across = { low: -0.5, high: d - 0.5, label: "column" };
  const { area, x, y, nearest } = axes(canvas, across, { low: rows - 0.5, high: -0.5 }, false);
  const [w, h] = [area.right - area.left, area.bottom - area.top];
  // Cells stay sharp unless there are more of them than pixels.
  context.imageSmoothingEnabled = d > w * (window.devicePixelRatio || 1);
  context.drawImage(painted, area.left, area.top, w, h);
  context.strokeStyle = color("axis");
  context.lineWidth = 1;
  context.strokeRect(area.left, area.top, w, h);
  context.strokeStyle = color("ink");
  context.lineWidth = 2;
  context.strokeRect(area.left - 2, y(position - 0.5) - 1.5, w + 4, h / rows + 3);
  setFinder("map", (px, py) => {
    if (px < area.left || px > area.right || py < area.top || py > area.bottom) return null;
    const row = Math.min(rows - 1, Math.floor(((py - area.top) / h) * rows));
    const column = nearest(px);
    const value = (column % 2 === 0 ? sin : cos)[row * pairs + (column >> 1)];
    return { text: `position ${row}, column ${column}: ${shortNumber(value)}`, at: [x(column), y(row)] };
  });
};

/**
 * Draws a circle per pair and a point on each, in the view of the figures (`rings.rs`).
 * @param {Table} table
 * @param {number} position
 */
export const drawRings = ({ pairs, sin, cos }, position) => {
  const canvas = sheet("circles");
  const { context, width, height } = canvas;
  const { flat, far, high, wide, centers } = page.rings;
  const radius = Math.min(height * high, width * wide);
  const nearest = [radius * flat + 6, height * centers[0]];
  const farthest = [width - radius * flat * far - 20, height * centers[1]];
  const depth = (/** @type {number} */ pair) => pair / (Math.max(2, pairs) - 1);
  const radiusOf = (/** @type {number} */ pair) => radius * (1 + (far - 1) * depth(pair));
  /** @type {(pair: number, cosine: number, sine: number) => [number, number]} */
  const place = (pair, cosine, sine) => [
    nearest[0] + (farthest[0] - nearest[0]) * depth(pair) + cosine * radiusOf(pair) * flat,
    nearest[1] + (farthest[1] - nearest[1]) * depth(pair) - sine * radiusOf(pair),
  ];
  const at = position * pairs;
  const point = (/** @type {number} */ pair) => place(pair, cos[at + pair], sin[at + pair]);
  const [ring, positive, negative] = ["axis", "positive", "negative"].map(color);
  // No more circles than can be told apart.
  const every = Math.max(1, Math.round(pairs / (width / 5)));
  for (let pair = pairs - 1; pair >= 0; pair -= 1) {
    if (pair % every === 0) {
      const [x, y] = place(pair, 0, 0);
      context.globalAlpha = pair === 0 ? 1 : 0.38;
      context.strokeStyle = ring;
      context.lineWidth = pair === 0 ? 1.2 : 0.8;
      context.beginPath();
      context.ellipse(x, y, radiusOf(pair) * flat, radiusOf(pair), 0, 0, 2 * Math.PI);
      context.stroke();
    }
    const ink = sin[at + pair] >= 0 ? positive : negative;
    context.globalAlpha = 0.45;
    if (pair + 1 < pairs) line(canvas, [point(pair), point(pair + 1)], ink, 1.1);
    context.globalAlpha = 1;
    disc(canvas, point(pair), (2.6 * radiusOf(pair)) / radius, ink);
  }
  for (const pair of [0, pairs - 1]) {
    const [x, y] = place(pair, 0, -1);
    write(canvas, [Math.min(x, width - 28), Math.min(y + 6, height - 13)], `pair ${pair}`, "center", "top");
  }
  write(canvas, [width - 4, 2], "blue: sine above zero, red: below", "right", "top");
  setFinder("circles", (px, py) => {
    const away = (/** @type {number} */ pair) => Math.hypot(point(pair)[0] - px, point(pair)[1] - py);
    let pair = 0;
    for (let other = 1; other < pairs; other += 1) if (away(other) < away(pair)) pair = other;
    if (away(pair) > 24) return null;
    const [sine, cosine] = [sin[at + pair], cos[at + pair]].map(shortNumber);
    return { text: `pair ${pair}: sine ${sine}, cosine ${cosine}`, at: point(pair) };
  });
};

/**
 * Draws the dot products of the chosen position with all positions.
 * @param {Table} table
 * @param {number} position
 */
export const drawCurve = (table, position) => {
  const canvas = sheet("curve");
  const values = Array.from({ length: table.rows }, (_, other) => dot(table, position, other));
  const down = { low: Math.min(0, ...values), high: table.pairs * 1.06 };
  const { area, x, y, nearest } = axes(canvas, { low: 0, high: table.rows - 1, label: "position" }, down, true);
  line(canvas, [[x(position), area.top], [x(position), area.bottom]], color("muted"), 1.2);
  line(canvas, values.map((value, other) => [x(other), y(value)]), color("accent"), 1.8);
  disc(canvas, [x(position), y(values[position])], 4, color("accent"));
  setFinder("curve", (px) => {
    const other = nearest(px);
    return { text: `position ${other}: ${shortNumber(values[other])}`, at: [x(other), y(values[other])] };
  });
};
