/** The page: its two sheets, and when they are drawn again. */

import { followAddress } from "./address.js";
import { bindPanel } from "./panel.js";
import { drawCurve, drawMap, drawRings, paintTable } from "./pictures.js";
import { buildStudy, drawScores, drawWaves, studyNumbers } from "./scores.js";
import { page } from "./sheet.js";
import { buildTable, numbersAt } from "./table.js";

let table = buildTable(page.positions, 2, 1);
const drawTable = (/** @type {import("./panel.js").Values} */ values) => {
  const [position, d, base] = [values.position, values.d_model, values.base].map(Number);
  if (d !== table.d || base !== table.base) {
    table = buildTable(page.positions, d, base);
    paintTable(table);
  }
  drawMap(table, position);
  drawRings(table, position);
  drawCurve(table, position);
  return numbersAt(table, position);
};

let study = { key: "", of: /** @type {import("./scores.js").Study | null} */ (null) };
const drawStudy = (/** @type {import("./panel.js").Values} */ values) => {
  const { distance, scaling, ...others } = values;
  const [base, d, factor, trained] = [others.rope_theta, others.head_dim, others.factor, others.trained].map(Number);
  const key = JSON.stringify([base, d, scaling, factor, trained]);
  const built = study.of && study.key === key ? study.of : buildStudy({ base, d, scaling, factor, trained });
  study = { key, of: built };
  drawScores(built, Number(distance));
  drawWaves(built);
  return studyNumbers(built, Number(distance));
};

/** @type {(() => void)[]} */
const redraws = [];
const redraw = () => redraws.forEach((each) => each());
followAddress(redraw);
redraws.push(bindPanel("table-sheet", "table", drawTable), bindPanel("rotary-sheet", "scores-by-distance", drawStudy));
window.addEventListener("resize", redraw);
document.fonts.ready.then(redraw);
