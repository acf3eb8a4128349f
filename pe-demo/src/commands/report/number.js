"use strict";
// A number for people, digit for digit as pe-demo writes it (`short` in report.rs).
const shortNumber = (value) => {
  const size = Math.abs(value);
  const sign = value < 0 ? "\u2212" : "";
  if (Number.isInteger(value) && size < 1e15) return sign + size;
  if (size >= 1e-3 && size < 1e9) return sign + size.toFixed(6);
  const [digits, power] = size.toExponential(6).split("e");
  const raised = [...power].map((c) => (c === "+" ? "" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c] ?? "⁻")).join("");
  return `${sign}${digits} × 10${raised}`;
};
