/** The two pictures of rotary scores. */

import { grouped, shortNumber } from "./number.js";
import { scaled, scores, unscaled, wavelengths } from "./rotary.js";
import { axes, color, disc, line, page, setFinder, sheet, write } from "./sheet.js";

/** @typedef {import("./rotary.js").Rotation} Rotation */

/**
 * Scores over the distance and wavelengths of the pairs, before and after scaling.
 * @typedef {object} Study
 * @property {Rotation} rotation
 * @property {number} attention
 * @property {Float64Array} before
 * @property {Float64Array} after
 * @property {number[]} wavesBefore
 * @property {number[]} wavesAfter
 */

/**
 * @param {Rotation} rotation
 * @returns {Study}
 */
export const buildStudy = (rotation) => {
  const [plain, changed] = [unscaled(rotation), scaled(rotation)];
  return {
    rotation,
    attention: changed.attention,
    before: scores(plain, page.distances),
    after: scores(changed, page.distances),
    wavesBefore: wavelengths(plain),
    wavesAfter: wavelengths(changed),
  };
};

/**
 * Returns the numbers below the pictures by name.
 * @param {Study} study
 * @param {number} distance
 * @returns {Record<string, number>}
 */
export const studyNumbers = ({ rotation, attention, after, wavesBefore, wavesAfter }, distance) => ({
  "score-0": after[0],
  score: after[distance],
  attention,
  slow: wavesBefore.filter((wave) => wave > rotation.trained).length,
  longest: wavesAfter[wavesAfter.length - 1],
  "longest-before": wavesBefore[wavesBefore.length - 1],
});

/**
 * Writes the names of the two curves.
 * @param {import("./sheet.js").Sheet} canvas
 * @param {Study} study
 */
const legend = (canvas, { rotation }) => {
  const right = canvas.width - 12;
  if (rotation.scaling === "none") return;
  write(canvas, [right, 8], "with scaling", "right", "top", color("accent"));
  write(canvas, [right, 8 + page.axes.text * 1.5], "without", "right", "top");
};

/**
 * Draws the score over the distance.
 * @param {Study} study
 * @param {number} distance
 */
export const drawScores = (study, distance) => {
  const { rotation, before, after } = study;
  const canvas = sheet("scores");
  const { context } = canvas;
  const extent = (/** @type {(...values: number[]) => number} */ most) => most(most(...before), most(...after));
  const down = { low: Math.min(0, extent(Math.min)), high: extent(Math.max) * 1.04 };
  const { area, x, y, nearest } = axes(canvas, { low: 0, high: page.distances, label: "distance" }, down, true);
  const trained = x(rotation.trained);
  context.fillStyle = color("beyond");
  context.fillRect(trained, area.top, area.right - trained, area.bottom - area.top);
  const side = trained > canvas.width / 2 ? "right" : "left";
  write(canvas, [trained + (side === "left" ? 6 : -6), area.bottom - 6], "trained length", side, "bottom");
  line(canvas, [[trained, area.top], [trained, area.bottom]], color("axis"));
  const curve = (/** @type {Float64Array} */ values, /** @type {string} */ style, /** @type {number} */ width) =>
    line(canvas, Array.from(values, (value, n) => [x(n), y(value)]), style, width);
  if (rotation.scaling !== "none") curve(before, color("muted"), 0.8);
  curve(after, color("accent"), 1.4);
  line(canvas, [[x(distance), area.top], [x(distance), area.bottom]], color("muted"), 1.2);
  disc(canvas, [x(distance), y(after[distance])], 4, color("accent"));
  legend(canvas, study);
  setFinder("scores", (px) => {
    const n = nearest(px);
    const without = rotation.scaling === "none" ? "" : `, without scaling ${shortNumber(before[n])}`;
    return { text: `distance ${grouped(n)}: ${shortNumber(after[n])}${without}`, at: [x(n), y(after[n])] };
  });
};

/**
 * Draws the wavelength of each pair, and the trained length.
 * @param {Study} study
 */
export const drawWaves = (study) => {
  const { rotation, wavesBefore, wavesAfter } = study;
  const canvas = sheet("waves");
  const last = wavesAfter.length - 1;
  const top = Math.ceil(Math.log10(Math.max(wavesAfter[last], wavesBefore[last], rotation.trained)));
  const raised = (/** @type {number} */ power) => `10${"⁰¹²³⁴⁵⁶⁷⁸⁹"[power]}`;
  const down = { low: 0, high: Math.max(1, top), text: raised };
  const { area, x, y, nearest } = axes(canvas, { low: 0, high: Math.max(1, last), label: "pair" }, down, true);
  const at = (/** @type {number} */ wave) => y(Math.log10(wave));
  const trained = at(rotation.trained);
  line(canvas, [[area.left, trained], [area.right, trained]], color("axis"), 1.2);
  write(canvas, [area.left + 6, trained - 3], `trained length ${grouped(rotation.trained)}`, "left", "bottom");
  const curve = (/** @type {number[]} */ waves, /** @type {string} */ style, /** @type {number} */ width) =>
    line(canvas, waves.map((wave, pair) => [x(pair), at(wave)]), style, width);
  if (rotation.scaling !== "none") curve(wavesBefore, color("muted"), 1.2);
  curve(wavesAfter, color("accent"), 1.8);
  setFinder("waves", (px) => {
    const pair = Math.min(last, nearest(px));
    const positions = (/** @type {number} */ wave) => shortNumber(Number(wave.toPrecision(6)));
    const without = rotation.scaling === "none" ? "" : `, without scaling ${positions(wavesBefore[pair])}`;
    return { text: `pair ${pair}: ${positions(wavesAfter[pair])} positions${without}`, at: [x(pair), at(wavesAfter[pair])] };
  });
};
