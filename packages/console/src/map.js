// map.js: the world as SVG, from outlines in TopoJSON (world-atlas), in the equirectangular projection.
//
// src  TopoJSON format: arcs are runs of differences, shared by neighbours; https://github.com/topojson/topojson-specification

import { h, svg } from "./dom.js";

/** Kilometres of a degree of latitude. */
const DEGREE = 111.2;
const MARGIN = 0.25;

let world;

/** Countries: ISO 3166-1 numeric code, name, and the path of their outline. */
export async function countries() {
  world ??= fetch("/console/world.json")
    .then((response) => response.json())
    .then((topology) => {
      const arcs = topology.arcs.map((arc) => decoded(arc, topology.transform));
      return topology.objects.countries.geometries.map((geometry) => ({
        code: geometry.id,
        name: geometry.properties.name,
        d: pathOf(geometry, arcs),
      }));
    });
  return world;
}

function decoded(arc, { scale, translate }) {
  let x = 0;
  let y = 0;
  return arc.map(([dx, dy]) => {
    x += dx;
    y += dy;
    return [x * scale[0] + translate[0], y * scale[1] + translate[1]];
  });
}

function pathOf({ type, arcs: rings }, arcs) {
  const polygons = type === "Polygon" ? [rings] : rings;
  return polygons.flatMap((polygon) => polygon.map((ring) => ringPath(ring, arcs))).join("");
}

/**
 * One outline. Those that cross the date line go on beyond 180 degrees, and are drawn a second time on the other side;
 * one that goes round a pole is closed along the edge of the map.
 */
function ringPath(ring, arcs) {
  const points = ring.flatMap((index) => (index >= 0 ? arcs[index] : [...arcs[~index]].reverse()));
  let turn = 0;
  let before = points[0][0];
  const unwound = points.map(([x, y]) => {
    if (x - before > 180) turn -= 360;
    else if (before - x > 180) turn += 360;
    before = x;
    return [x + turn, y];
  });
  const [first, last] = [unwound[0], unwound.at(-1)];
  if (Math.abs(last[0] - first[0]) > 180) {
    const pole = last[1] < 0 ? -90 : 90;
    unwound.push([last[0], pole], [first[0], pole]);
  }
  const xs = unwound.map(([x]) => x);
  return [0, -360, 360]
    .filter((shift) => Math.max(...xs) + shift > -180 && Math.min(...xs) + shift < 180)
    .map((shift) => `M${unwound.map(([x, y]) => `${(x + shift).toFixed(2)} ${(-y).toFixed(2)}`).join("L")}Z`)
    .join("");
}

/**
 * The world around a point, with the circle within which it is likely to be.
 * @param {number} latitude
 * @param {number} longitude
 * @param {number | undefined} radius km
 */
export async function placeMap(latitude, longitude, radius) {
  const outlines = await countries();
  // Degrees of longitude are drawn as short as they are there, so that a circle is a circle; not at the poles themselves.
  const short = Math.cos((latitude * Math.PI) / 180);
  const narrow = Math.max(0.2, short);
  // Wide enough for the circle and some land around it, which the outlines are too coarse for closer up.
  const half = Math.min(90, Math.max(9, ((radius ?? 200) / DEGREE) * 3));
  const wide = Math.min(180, half * 1.8);
  const x = longitude * narrow - wide;
  const y = Math.max(-90, Math.min(90 - 2 * half, -latitude - half));
  const unit = half / 100;
  const said = `Map: ${latitude}, ${longitude}${radius === undefined ? "" : `, within ${radius} km with 67 % confidence`}`;
  return h(
    "figure",
    { class: "map" },
    svg(
      "svg",
      { viewBox: `${x} ${y} ${2 * wide} ${2 * half}`, role: "img", "aria-label": said },
      svg("rect", { class: "sea", x, y, width: 2 * wide, height: 2 * half }),
      // across the date line the world goes on
      [0, -360, 360]
        .filter((shift) => x < (180 + shift) * narrow && x + 2 * wide > (shift - 180) * narrow)
        .map((shift) =>
          svg(
            "g",
            { transform: `scale(${narrow} 1) translate(${shift} 0)` },
            outlines.map(({ d }) => svg("path", { class: "land even", d })),
          ),
        ),
      radius !== undefined &&
        svg("ellipse", {
          class: "radius",
          cx: longitude * narrow,
          cy: -latitude,
          rx: (radius / DEGREE / Math.max(0.05, short)) * narrow,
          ry: radius / DEGREE,
          "stroke-width": unit,
        }),
      svg("circle", {
        class: "point",
        cx: longitude * narrow,
        cy: -latitude,
        r: unit * 2.2,
        "stroke-width": unit * 0.7,
      }),
    ),
    h("figcaption", {}, said.replace("Map: ", "")),
  );
}

/**
 * The world, countries shaded by a number.
 * @param {{iso_code: string, count: number}[]} rows by ISO 3166-1 alpha-2
 */
export async function shadedMap(title, rows) {
  const [outlines, numbers] = await Promise.all([
    countries(),
    fetch("/console/countries.json").then((response) => response.json()),
  ]);
  const counts = new Map(rows.map(({ iso_code, count }) => [numbers[iso_code], count]));
  const most = Math.max(1, ...counts.values());
  return h(
    "figure",
    { class: "map" },
    h("figcaption", {}, title, shades(most)),
    svg(
      "svg",
      { viewBox: `-170 -${84 + MARGIN} 350 142`, role: "img", "aria-label": title },
      outlines.map(({ code, name, d }) => {
        const n = counts.get(code) ?? 0;
        const shade =
          n === 0 ? 0 : 1 + Math.min(SHADES - 1, Math.floor((SHADES * Math.log1p(n)) / Math.log1p(most)));
        return svg(
          "path",
          { class: `land shade-${shade}`, d, "stroke-width": 0.3 },
          svg("title", {}, `${name}: ${n.toLocaleString("en-US")}`),
        );
      }),
    ),
  );
}

const SHADES = 5;

/** From how many on a country has which shade. */
function shades(most) {
  const from = Array.from({ length: SHADES }, (_, i) =>
    Math.max(1, Math.ceil(Math.expm1((i * Math.log1p(most)) / SHADES))),
  );
  return h(
    "ul",
    { class: "key" },
    from
      .map((n, i) => [n, i + 1])
      .filter(([n], i) => n !== from[i + 1] && n <= most)
      .map(([n, shade]) =>
        h(
          "li",
          {},
          svg(
            "svg",
            { viewBox: "0 0 10 10", "aria-hidden": "true" },
            svg("rect", { class: `shade-${shade}`, width: 10, height: 10, rx: 2 }),
          ),
          `from ${n.toLocaleString("en-US")}`,
        ),
      ),
  );
}
