// Sorting, other metrics and ratios in the matrix, the theme, copying. The page says everything without it.
"use strict";
(() => {
  const runs = JSON.parse(document.getElementById("data").textContent);
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  // As the program writes numbers: three significant digits at least.
  const significant = (value) => {
    if (value === 0 || !Number.isFinite(value)) return String(value);
    const magnitude = Math.floor(Math.log10(Math.abs(value)));
    return value.toFixed(Math.min(9, Math.max(0, 2 - magnitude)));
  };
  const grouped = (value) => Math.round(value).toLocaleString("en-US");
  const bytes = (value) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    while (value >= 1023.5 && unit + 1 < units.length) {
      value /= 1024;
      unit += 1;
    }
    return `${unit === 0 ? Math.round(value) : significant(value)} ${units[unit]}`;
  };
  const write = {
    s: significant,
    B: bytes,
    "%": (value) => value.toFixed(2),
    n: grouped,
    r: (value) => value.toFixed(3),
    k: (value) => (Math.abs(value) >= 999.5 ? grouped(value) : significant(value)),
  };
  const ratioText = (value) =>
    Math.abs(value) >= 99.95 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 9.995 ? 1 : 2);

  function matrix(run) {
    const table = document.getElementById(`${run.id}matrix-table`);
    const controls = document.querySelector(`.controls[data-run="${run.id}"]`);
    if (!table || !controls) return;
    const said = document.getElementById(`${run.id}said`);
    const select = controls.querySelector("select");
    const modes = [...controls.querySelectorAll("button[data-mode]")];
    const words = new Map(run.absent.map(([column, task, word]) => [`${column} ${task}`, word]));
    const state = { metric: select.value, mode: "value", column: -1, descending: false };

    const rows = () => {
      const index = run.metrics.findIndex((metric) => metric.id === state.metric);
      return run.tasks.flatMap((task, number) => {
        const wanted = state.metric === "judged" ? task.judged : index;
        const found = task.figures.find((figures) => figures[0] === wanted);
        if (!found) {
          // A test that nobody got through is shown all the same.
          if (task.step || task.figures.length) return [];
          const none = run.configurations.map(() => null);
          return [{ number, task, metric: null, values: none, ratios: none, best: [] }];
        }
        const [, values, given, best] = found;
        const base = values[run.baseline];
        const ratios = values.map((value, column) => {
          if (value === null || base === null || base === undefined || base === 0) return null;
          return given.length ? given[column] : value / base;
        });
        return [{ number, task, metric: run.metrics[wanted], values, ratios, best }];
      });
    };

    const cell = (row, column) => {
      const value = row.values[column];
      if (value === null) {
        return element("td", { className: "none" }, words.get(`${column} ${row.number}`) ?? "–");
      }
      const ratio = row.ratios[column];
      const text = state.mode === "ratio" ? (ratio === null ? "–" : ratioText(ratio)) : write[row.metric.kind](value);
      if (row.best.includes(column)) {
        const star = element("span", { className: "star" }, "★");
        star.setAttribute("aria-hidden", "true");
        return element("td", { className: "best" }, star, text, element("span", { className: "unseen" }, " best"));
      }
      const all = row.values.filter((other) => other !== null);
      const first = row.metric.more ? Math.max(...all) : Math.min(...all);
      const times = row.metric.more ? first / value : value / first;
      const heat = Number.isFinite(times) ? [1.5, 3, 10].filter((from) => times >= from).length : 0;
      return element("td", { className: heat ? `heat${heat}` : "" }, text);
    };

    const key = (row) => {
      const list = state.mode === "ratio" ? row.ratios : row.values;
      return list[state.column];
    };
    const draw = () => {
      const shown = rows();
      const direction = state.descending ? -1 : 1;
      shown.sort((a, b) => {
        if (state.column < 0) return direction * (a.number - b.number);
        const [x, y] = [key(a), key(b)];
        // What has no figure stays at the end.
        if (x === null || y === null) return (x === null) - (y === null) || a.number - b.number;
        return direction * (x - y) || a.number - b.number;
      });
      const mixed = state.metric === "judged";
      const body = shown.map((row) => {
        const head = element("th", { scope: "row" });
        if (row.task.title) head.append(element("span", { className: "id" }, row.task.id), " ", row.task.title);
        else head.append(row.task.id);
        // Only the task tells what its rate counts.
        const unit = row.metric?.id === "rate" ? row.task.rate : mixed && row.metric?.unit;
        if (unit) head.append(" ", element("span", { className: "unit" }, unit));
        return element("tr", {}, head, ...run.configurations.map((_, column) => cell(row, column)));
      });
      table.tBodies[0].replaceChildren(...body);
      const metric = run.metrics.find((other) => other.id === state.metric);
      const ratios = state.mode === "ratio" ? `Ratios to ${run.configurations[run.baseline]}. ` : "";
      table.caption.textContent = ratios + (metric ? metric.caption : run.mixed);
      foot(shown, metric);
      heads.forEach((head, index) => {
        const on = index - 1 === state.column;
        head.setAttribute("aria-sort", on ? (state.descending ? "descending" : "ascending") : "none");
      });
    };

    const foot = (shown, metric) => {
      table.tFoot?.remove();
      const suite = shown.filter((row) => !row.task.step && row.metric);
      if (!metric || !metric.sums || suite.length < 2) return;
      const line = element("tr", {}, element("th", { scope: "row" }, `sum of ${suite.length} tests`));
      const sum = (column) => {
        const values = suite.map((row) => row.values[column]);
        return values.includes(null) ? null : values.reduce((one, other) => one + other, 0);
      };
      const base = sum(run.baseline);
      run.configurations.forEach((_, column) => {
        let value = sum(column);
        if (state.mode === "ratio") value = value === null || !base ? null : value / base;
        const text = value === null ? "–" : (state.mode === "ratio" ? ratioText : write[metric.kind])(value);
        line.append(element("td", { className: value === null ? "none" : "" }, text));
      });
      table.append(element("tfoot", {}, line));
    };

    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, index) => {
      const button = element("button", { type: "button", className: "sort" }, ...head.childNodes);
      button.addEventListener("click", () => {
        const column = index - 1;
        state.descending = state.column === column && !state.descending;
        state.column = column;
        draw();
        said.textContent = `sorted by ${button.textContent}, ${state.descending ? "descending" : "ascending"}`;
      });
      head.replaceChildren(button);
      head.setAttribute("aria-sort", index === 0 ? "ascending" : "none");
    });
    select.addEventListener("change", () => {
      state.metric = select.value;
      draw();
      said.textContent = `shows ${select.selectedOptions[0].textContent}`;
    });
    modes.forEach((button) =>
      button.addEventListener("click", () => {
        state.mode = button.dataset.mode;
        modes.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
        draw();
        said.textContent = `shows ${button.textContent}`;
      }),
    );
    controls.hidden = false;
  }
  runs.forEach(matrix);

  const theme = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => {
    try {
      return localStorage.getItem("mountmark-theme");
    } catch {
      return null; // Some browsers forbid it to files.
    }
  };
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : dark.matches;
  };
  const name = () => {
    theme.textContent = isDark() ? "light colours" : "dark colours";
  };
  if (["light", "dark"].includes(kept())) document.documentElement.dataset.theme = kept();
  theme.addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    try {
      localStorage.setItem("mountmark-theme", chosen);
    } catch {
      // Then it is kept for this page only.
    }
    name();
  });
  dark.addEventListener("change", name);
  name();
  theme.hidden = false;

  for (const button of document.querySelectorAll("button[data-copy]")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      button.textContent = "copied";
    });
  }

  // What is folded is printed too.
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
