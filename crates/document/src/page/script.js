// Sorting, other metrics and ratios in the matrix, the theme, copying. The page says everything without it.
"use strict";
(() => {
  const runs = JSON.parse(document.getElementById("data").textContent);
  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  function matrix(run) {
    const table = document.getElementById(`${run.id}matrix-table`);
    const controls = document.querySelector(`.controls[data-run="${run.id}"]`);
    if (!table || !controls) return;
    const said = document.getElementById(`${run.id}said`);
    const select = controls.querySelector("select");
    const modes = [...controls.querySelectorAll("button[data-mode]")];
    const words = new Map(run.absent.map(([column, task, word]) => [`${column} ${task}`, word]));
    const state = { metric: select.value, mode: "value", column: -1, descending: false };

    const best = (text) => {
      const star = element("span", { className: "star" }, "★");
      star.setAttribute("aria-hidden", "true");
      return element("td", { className: "best" }, star, text, element("span", { className: "unseen" }, " best"));
    };
    const cell = (row, column) => {
      const [task, , texts, ratios, looks] = row;
      if (texts[column] === null) {
        return element("td", { className: "none" }, words.get(`${column} ${task}`) ?? "-");
      }
      const text = state.mode === "ratio" ? (ratios[column] ?? "-") : texts[column];
      if (looks[column] === "b") return best(text);
      return element("td", { className: looks[column] === "0" ? "" : `heat${looks[column]}` }, text);
    };

    const key = (row) => {
      if (state.mode === "value") return row[5][state.column];
      const ratio = row[3][state.column];
      return ratio === null ? null : Number(ratio);
    };
    const draw = () => {
      const shown = run.tables.find((other) => other.id === state.metric);
      const direction = state.descending ? -1 : 1;
      const rows = [...shown.rows].sort((a, b) => {
        if (state.column < 0) return direction * (a[0] - b[0]);
        const [x, y] = [key(a), key(b)];
        // What has no figure stays at the end.
        if (x === null || y === null) return (x === null) - (y === null) || a[0] - b[0];
        return direction * (x - y) || a[0] - b[0];
      });
      const body = rows.map((row) => {
        const [id, title] = run.tasks[row[0]];
        const head = element("th", { scope: "row" });
        if (title) head.append(element("span", { className: "id" }, id), " ", title);
        else head.append(id);
        if (row[1]) head.append(" ", element("span", { className: "unit" }, row[1]));
        return element("tr", {}, head, ...run.configurations.map((_, column) => cell(row, column)));
      });
      table.tBodies[0].replaceChildren(...body);
      const ratios = state.mode === "ratio" ? `Ratios to ${run.configurations[run.baseline]}. ` : "";
      table.caption.textContent = ratios + shown.caption;
      foot(shown.total);
      heads.forEach((head, index) => {
        const on = index - 1 === state.column;
        head.setAttribute("aria-sort", on ? (state.descending ? "descending" : "ascending") : "none");
      });
    };

    const foot = (total) => {
      table.tFoot?.remove();
      if (!total) return;
      const line = element("tr", {}, element("th", { scope: "row" }, `total of ${total[0]} tests`));
      (state.mode === "ratio" ? total[2] : total[1]).forEach((text, column) => {
        const plain = element("td", { className: text === null ? "none" : "" }, text ?? "-");
        line.append(total[3].includes(column) ? best(text) : plain);
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

  for (const button of document.querySelectorAll("button.copy")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "copied";
    });
  }

  // What is folded is printed too.
  addEventListener("beforeprint", () => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
})();
