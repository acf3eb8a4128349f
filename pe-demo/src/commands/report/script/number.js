/** Numbers as text. */

/**
 * Writes a number for people, digit for digit as the program does (`six_digits`).
 * @param {number} value
 * @returns {string}
 */
export const shortNumber = (value) => {
  const size = Math.abs(value);
  const sign = value < 0 ? "\u2212" : "";
  if (Number.isInteger(value) && size < 1e15) return sign + size;
  if (size >= 1e-3 && size < 1e9) return sign + size.toFixed(6);
  const [digits, power] = size.toExponential(6).split("e");
  const raised = [...power].map((c) => (c === "+" ? "" : ("⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(c)] ?? "⁻"))).join("");
  return `${sign}${digits} × 10${raised}`;
};

/**
 * Returns ticks at round numbers inside a range, about `wanted` of them, as the figures have them (`ticks.rs`).
 * @param {number} low
 * @param {number} high
 * @param {number} wanted
 * @returns {number[]}
 */
export const ticks = (low, high, wanted) => {
  const rough = (high - low) / Math.max(1, wanted);
  let decade = 1;
  while (decade * 10 <= rough) decade *= 10;
  while (decade > rough) decade /= 10;
  const steps = [1, 2, 5, 10].map((factor) => factor * decade);
  const step = steps.find((each) => (high - low) / each <= wanted + 0.5) ?? decade * 10;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, k) =>
    step >= 1 ? (first + k) * step : (first + k) / Math.round(1 / step),
  );
};

/**
 * Writes an integer with commas between its thousands, as the program does (`thousands`).
 * @param {number} value
 * @returns {string}
 */
export const grouped = (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ",");
