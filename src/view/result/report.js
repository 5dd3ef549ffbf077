/* SPDX-License-Identifier: MIT */
"use strict";
// Makes the tables sort. Cells with a number carry it in data-v; a cell that is empty or not known is last in either order.
(function () {
  function key(row, column) {
    var cell = row.cells[column];
    if (cell.hasAttribute("data-v")) return Number(cell.getAttribute("data-v"));
    return cell.hasAttribute("data-none") ? null : cell.textContent;
  }

  function compare(a, b) {
    return typeof a === "number" && typeof b === "number" ? a - b
      : String(a).localeCompare(String(b), undefined, { numeric: true });
  }

  function sort(table, heading, column) {
    var isNumber = heading.classList.contains("n");
    var last = heading.getAttribute("aria-sort");
    var order = last === "none" ? (isNumber ? "descending" : "ascending")
      : last === "descending" ? "ascending" : "descending";
    var sign = order === "ascending" ? 1 : -1;
    var rows = Array.prototype.map.call(table.tBodies[0].rows, function (row, index) {
      return { row: row, key: key(row, column), index: index };
    });
    rows.sort(function (a, b) {
      if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.index - b.index;
      return sign * compare(a.key, b.key) || a.index - b.index;
    });
    rows.forEach(function (item) { table.tBodies[0].appendChild(item.row); });
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (other) {
      other.setAttribute("aria-sort", other === heading ? order : "none");
    });
  }

  Array.prototype.forEach.call(document.querySelectorAll("table"), function (table) {
    if (table.tBodies[0].rows.length < 2) return;
    Array.prototype.forEach.call(table.tHead.rows[0].cells, function (heading, column) {
      var button = document.createElement("button");
      button.type = "button";
      while (heading.firstChild) button.appendChild(heading.firstChild);
      heading.appendChild(button);
      heading.setAttribute("aria-sort", "none");
      button.addEventListener("click", function () { sort(table, heading, column); });
    });
  });
})();
