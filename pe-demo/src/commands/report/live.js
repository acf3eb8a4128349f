(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const rows = data.positions;
  const byId = (id) => document.getElementById(id);
  const sliders = { position: byId("position"), d: byId("d_model"), base: byId("base") };

  // The table at the sliders' places.
  const state = { position: 0, d: 0, base: 0, sin: null, cos: null };

  // The base's slider counts hundredths of a power of ten; a base has three digits.
  const baseAt = (hundredths) => Number(Math.pow(10, hundredths / 100).toPrecision(3));
  const rate = (pair) => Math.pow(state.base, (-2 * pair) / state.d);

  const compute = () => {
    const position = Number(sliders.position.value);
    const d = Number(sliders.d.value);
    const base = baseAt(Number(sliders.base.value));
    const same = d === state.d && base === state.base;
    Object.assign(state, { position, d, base });
    if (same) return;
    const pairs = d / 2;
    state.sin = new Float64Array(rows * pairs);
    state.cos = new Float64Array(rows * pairs);
    for (let pair = 0; pair < pairs; pair += 1) {
      const w = rate(pair);
      for (let p = 0; p < rows; p += 1) {
        state.sin[p * pairs + pair] = Math.sin(p * w);
        state.cos[p * pairs + pair] = Math.cos(p * w);
      }
    }
    paintTable();
  };

  const dot = (p, q) => {
    const pairs = state.d / 2;
    let sum = 0;
    for (let pair = 0; pair < pairs; pair += 1) {
      sum += state.sin[p * pairs + pair] * state.sin[q * pairs + pair]
        + state.cos[p * pairs + pair] * state.cos[q * pairs + pair];
    }
    return sum;
  };

  const neighbor = () => {
    let sum = 0;
    for (let pair = 0; pair < state.d / 2; pair += 1) {
      const s = Math.sin(rate(pair) / 2);
      sum += s * s;
    }
    return Math.sqrt(4 * sum);
  };

  // Numbers: pe-core's where the sliders are as the page opened, else computed here.
  const shown = [...document.querySelectorAll("#live-numbers data")];
  const exact = shown.map((number) => number.value);
  const source = byId("live-source");
  const sources = [source.textContent, data.computed];
  const show = (name, value) => {
    const number = byId("live-" + name).querySelector("data");
    number.value = String(value);
    number.textContent = shortNumber(value);
  };
  const numbers = () => {
    byId("position-value").textContent = String(state.position);
    byId("d_model-value").textContent = String(state.d);
    byId("base-value").textContent = String(state.base);
    const first = Object.values(sliders).every((slider) => slider.value === slider.defaultValue);
    source.textContent = sources[first ? 0 : 1];
    if (first) {
      shown.forEach((number, index) => {
        number.value = exact[index];
        number.textContent = shortNumber(Number(exact[index]));
      });
      return;
    }
    const pairs = state.d / 2;
    const at = state.position * pairs;
    show("entry-0", state.sin[at]);
    show("entry-1", state.cos[at]);
    show("entry-2", state.sin[at + 1]);
    show("entry-last", state.cos[at + pairs - 1]);
    show("wavelength", (2 * Math.PI) / rate(pairs - 1));
    show("dot-0", dot(state.position, 0));
    show("dot-self", dot(state.position, state.position));
    show("neighbor", neighbor());
  };

  // Pictures.
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const sheet = (id) => {
    const canvas = byId(id);
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = "12px Roboto, system-ui, sans-serif";
    context.lineJoin = "round";
    return { context, width, height };
  };

  // The whole table, one pixel per entry, kept until the table changes.
  const table = document.createElement("canvas");
  const paintTable = () => {
    const { d } = state;
    const pairs = d / 2;
    table.width = d;
    table.height = rows;
    const context = table.getContext("2d");
    const image = context.createImageData(d, rows);
    for (let p = 0; p < rows; p += 1) {
      for (let column = 0; column < d; column += 1) {
        const of = column % 2 === 0 ? state.sin : state.cos;
        const value = of[p * pairs + (column >> 1)];
        const rgb = data.palette[128 + Math.round(value * 127)];
        const at = 4 * (p * d + column);
        image.data[at] = rgb >> 16;
        image.data[at + 1] = (rgb >> 8) & 255;
        image.data[at + 2] = rgb & 255;
        image.data[at + 3] = 255;
      }
    }
    context.putImageData(image, 0, 0);
  };

  const frame = { left: 40, right: 10, top: 6, bottom: 34 };
  const ticks = (last, wanted) => {
    const rough = last / wanted;
    const decade = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((k) => k * decade).find((s) => s >= rough);
    const out = [];
    for (let tick = 0; tick <= last; tick += step) out.push(tick);
    return out;
  };

  const drawMap = () => {
    const { context, width, height } = sheet("map");
    const w = width - frame.left - frame.right;
    const h = height - frame.top - frame.bottom;
    // Cells stay sharp unless there are more of them than pixels.
    context.imageSmoothingEnabled = state.d > w * (window.devicePixelRatio || 1);
    context.drawImage(table, frame.left, frame.top, w, h);
    context.strokeStyle = color("axis");
    context.lineWidth = 1;
    context.strokeRect(frame.left, frame.top, w, h);
    context.fillStyle = color("muted");
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const tick of ticks(state.d - 1, Math.max(2, w / 70))) {
      context.fillText(String(tick), frame.left + ((tick + 0.5) / state.d) * w, frame.top + h + 5);
    }
    context.fillText("column", frame.left + w / 2, frame.top + h + 19);
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const tick of ticks(rows - 1, 5)) {
      context.fillText(String(tick), frame.left - 6, frame.top + ((tick + 0.5) / rows) * h);
    }
    // The chosen row.
    const y = frame.top + (state.position / rows) * h;
    context.strokeStyle = color("ink");
    context.lineWidth = 2;
    context.strokeRect(frame.left - 2, y - 1.5, w + 4, h / rows + 3);
  };

  const drawRings = () => {
    const { context, width, height } = sheet("rings");
    const pairs = state.d / 2;
    const radius = Math.min(height * 0.38, width * 0.2);
    const flat = 0.36;
    const least = 0.62;
    const near = [radius * flat + 10, height * 0.5];
    const far = [width - radius * flat * least - 12, height * 0.44];
    const place = (pair, c, s) => {
      const depth = pairs > 1 ? pair / (pairs - 1) : 0;
      const r = radius * (1 + (least - 1) * depth);
      return [
        near[0] + (far[0] - near[0]) * depth + c * r * flat,
        near[1] + (far[1] - near[1]) * depth - s * r,
        r,
      ];
    };
    const at = state.position * pairs;
    const ring = color("axis");
    const positive = color("positive");
    const negative = color("negative");
    // No more circles than can be told apart.
    const every = Math.max(1, Math.round(pairs / (width / 5)));
    for (let pair = pairs - 1; pair >= 0; pair -= 1) {
      const [cx, cy, r] = place(pair, 0, 0);
      if (pair % every === 0) {
        context.globalAlpha = pair === 0 ? 1 : 0.32;
        context.strokeStyle = ring;
        context.lineWidth = pair === 0 ? 1.4 : 0.8;
        context.beginPath();
        context.ellipse(cx, cy, r * flat, r, 0, 0, 2 * Math.PI);
        context.stroke();
      }
      const s = state.sin[at + pair];
      const [x, y] = place(pair, state.cos[at + pair], s);
      const ink = s >= 0 ? positive : negative;
      if (pair + 1 < pairs) {
        const [nx, ny] = place(pair + 1, state.cos[at + pair + 1], state.sin[at + pair + 1]);
        context.globalAlpha = 0.5;
        context.strokeStyle = ink;
        context.lineWidth = 1.2;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(nx, ny);
        context.stroke();
      }
      context.globalAlpha = 1;
      context.fillStyle = ink;
      context.beginPath();
      context.arc(x, y, (2.8 * r) / radius, 0, 2 * Math.PI);
      context.fill();
    }
    context.fillStyle = color("muted");
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const pair of [0, pairs - 1]) {
      const [x, y, r] = place(pair, 0, 0);
      context.fillText("pair " + pair, Math.min(x, width - 28), Math.min(y + r + 5, height - 13));
    }
    context.textAlign = "right";
    context.fillText("blue: sine above zero, red: below", width - 4, 2);
  };

  const drawCurve = () => {
    const { context, width, height } = sheet("curve");
    const w = width - frame.left - frame.right;
    const h = height - frame.top - frame.bottom;
    const values = Array.from({ length: rows }, (_, q) => dot(state.position, q));
    const most = state.d / 2;
    const low = Math.min(0, ...values);
    const x = (q) => frame.left + (q / (rows - 1)) * w;
    const y = (v) => frame.top + h - ((v - low) / (most * 1.05 - low)) * h;
    context.lineWidth = 1;
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const tick of ticks(most, 4)) {
      context.strokeStyle = color("grid");
      context.beginPath();
      context.moveTo(frame.left, y(tick));
      context.lineTo(frame.left + w, y(tick));
      context.stroke();
      context.fillStyle = color("muted");
      context.fillText(String(tick), frame.left - 6, y(tick));
    }
    context.textAlign = "center";
    context.textBaseline = "top";
    for (const tick of ticks(rows - 1, Math.max(2, w / 70))) {
      context.fillText(String(tick), x(tick), frame.top + h + 5);
    }
    context.fillText("position", frame.left + w / 2, frame.top + h + 19);
    context.strokeStyle = color("axis");
    context.beginPath();
    context.moveTo(x(state.position), frame.top);
    context.lineTo(x(state.position), frame.top + h);
    context.stroke();
    context.strokeStyle = color("accent");
    context.lineWidth = 2;
    context.beginPath();
    values.forEach((v, q) => (q === 0 ? context.moveTo(x(q), y(v)) : context.lineTo(x(q), y(v))));
    context.stroke();
    context.fillStyle = color("accent");
    context.beginPath();
    context.arc(x(state.position), y(values[state.position]), 4, 0, 2 * Math.PI);
    context.fill();
  };

  const draw = () => {
    compute();
    numbers();
    drawMap();
    drawRings();
    drawCurve();
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
  for (const slider of Object.values(sliders)) slider.addEventListener("input", soon);
  window.addEventListener("resize", soon);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
  draw();
})();
