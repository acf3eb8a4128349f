/** The table at the sliders' places, in 64-bit arithmetic. */

/**
 * Sines and cosines of all pairs at the first positions, position after position.
 * @typedef { { rows: number, d: number, pairs: number, base: number, sin: Float64Array, cos: Float64Array } } Table
 */

/**
 * Returns the angle by which a pair rotates per position.
 * @param {number} base
 * @param {number} d
 * @param {number} pair
 */
const rate = (base, d, pair) => Math.pow(base, (-2 * pair) / d);

/**
 * @param {number} rows
 * @param {number} d
 * @param {number} base
 * @returns {Table}
 */
export const buildTable = (rows, d, base) => {
  const pairs = d / 2;
  const sin = new Float64Array(rows * pairs);
  const cos = new Float64Array(rows * pairs);
  for (let pair = 0; pair < pairs; pair += 1) {
    const w = rate(base, d, pair);
    for (let p = 0; p < rows; p += 1) {
      sin[p * pairs + pair] = Math.sin(p * w);
      cos[p * pairs + pair] = Math.cos(p * w);
    }
  }
  return { rows, d, pairs, base, sin, cos };
};

/**
 * Returns the dot product of two positions.
 * @param {Table} table
 * @param {number} p
 * @param {number} q
 */
export const dot = ({ pairs, sin, cos }, p, q) => {
  let sum = 0;
  for (let pair = 0; pair < pairs; pair += 1) {
    sum += sin[p * pairs + pair] * sin[q * pairs + pair] + cos[p * pairs + pair] * cos[q * pairs + pair];
  }
  return sum;
};

/**
 * Returns the numbers below the pictures by name.
 * @param {Table} table
 * @param {number} position
 * @returns {Record<string, number>}
 */
export const numbersAt = (table, position) => {
  const { base, d, pairs, sin, cos } = table;
  const at = position * pairs;
  let squares = 0;
  for (let pair = 0; pair < pairs; pair += 1) squares += Math.sin(rate(base, d, pair) / 2) ** 2;
  return {
    "entry-0": sin[at],
    "entry-1": cos[at],
    "entry-2": sin[at + 1],
    "entry-last": cos[at + pairs - 1],
    wavelength: (2 * Math.PI) / rate(base, d, pairs - 1),
    "dot-0": dot(table, position, 0),
    "dot-self": dot(table, position, position),
    neighbor: Math.sqrt(4 * squares),
  };
};
