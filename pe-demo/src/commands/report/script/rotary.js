/** Rotary frequencies and scores, in 64-bit arithmetic. */

/**
 * @typedef {object} Rotation
 * @property {number} base
 * @property {number} d width of a head
 * @property {string} scaling
 * @property {number} factor
 * @property {number} trained the trained length
 */

/**
 * Frequencies of all pairs, and the factor of cosines and sines.
 * @typedef { { rates: number[], attention: number } } Rates
 */

const clamped = (/** @type {number} */ value) => Math.min(1, Math.max(0, value));

/**
 * Returns frequencies without scaling.
 * @param {Rotation} rotation
 * @returns {Rates}
 */
export const unscaled = ({ base, d }) => ({
  rates: Array.from({ length: d / 2 }, (_, pair) => Math.pow(base, (-2 * pair) / d)),
  attention: 1,
});

/**
 * Returns the factor of YaRN's ramp for each pair: 1 where a pair is slowed down, 0 where it is unchanged.
 * @param {Rotation} rotation
 */
const yarnRamp = ({ base, d, trained }) => {
  const pairWith = (/** @type {number} */ turns) => (d * Math.log(trained / (2 * Math.PI * turns))) / (2 * Math.log(base));
  const low = Math.max(0, Math.floor(pairWith(32)));
  let high = Math.min(d - 1, Math.ceil(pairWith(1)));
  if (low === high) high += 0.001;
  return (/** @type {number} */ pair) => clamped((pair - low) / (high - low));
};

/**
 * Returns frequencies with the scaling.
 * @param {Rotation} rotation
 * @returns {Rates}
 */
export const scaled = (rotation) => {
  const { scaling, factor, trained } = rotation;
  const { rates, attention } = unscaled(rotation);
  // The share of the slower frequency.
  const shares = {
    linear: () => 1,
    yarn: yarnRamp(rotation),
    llama3: (/** @type {number} */ pair) => 1 - clamped(((trained * rates[pair]) / (2 * Math.PI) - 1) / 3),
  };
  if (!Object.hasOwn(shares, scaling)) return { rates, attention };
  const share = shares[/** @type {keyof typeof shares} */ (scaling)];
  return {
    rates: rates.map((rate, pair) => (rate / factor) * share(pair) + rate * (1 - share(pair))),
    attention: scaling === "yarn" && factor > 1 ? 0.1 * Math.log(factor) + 1 : 1,
  };
};

/**
 * Returns the dot product of a rotated query and key for each distance from 0 to the last.
 * @param {Rates} rates
 * @param {number} last
 */
export const scores = ({ rates, attention }, last) => {
  const sums = new Float64Array(last + 1);
  for (const rate of rates) {
    for (let n = 0; n <= last; n += 1) sums[n] += Math.cos(n * rate);
  }
  return sums.map((sum) => attention * attention * sum);
};

/**
 * Returns the wavelengths of all pairs in positions.
 * @param {Rates} rates
 */
export const wavelengths = ({ rates }) => rates.map((rate) => (2 * Math.PI) / rate);
