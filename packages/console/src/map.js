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

function ringPath(ring, arcs) {
  const points = ring.flatMap((index) => (index >= 0 ? arcs[index] : [...arcs[~index]].reverse()));
  // A ring across the date line would be drawn across the map: a jump begins a new run.
  let d = "";
  let before;
  for (const [x, y] of points) {
    const isJump = before !== undefined && Math.abs(x - before) > 180;
    d += `${before === undefined || isJump ? "M" : "L"}${x.toFixed(2)} ${(-y).toFixed(2)}`;
    before = x;
  }
  return d;
}

/**
 * The world around a point, with the circle within which it is likely to be.
 * @param {number} latitude
 * @param {number} longitude
 * @param {number | undefined} radius km
 */
export async function placeMap(latitude, longitude, radius) {
  const outlines = await countries();
  const narrow = Math.max(0.05, Math.cos((latitude * Math.PI) / 180));
  // Wide enough for the circle and some land around it, which the outlines are too coarse for closer up.
  const half = Math.min(90, Math.max(9, ((radius ?? 200) / DEGREE) * 3));
  const wide = Math.min(180, half * 1.8);
  const x = Math.max(-180, Math.min(180 - 2 * wide, longitude - wide));
  const y = Math.max(-90, Math.min(90 - 2 * half, -latitude - half));
  const unit = half / 100;
  const said = `Map: ${latitude}, ${longitude}${radius === undefined ? "" : `, within ${radius} km with 67 % confidence`}`;
  return h(
    "figure",
    { class: "map" },
    svg(
      "svg",
      { viewBox: `${x} ${y} ${2 * wide} ${2 * half}`, role: "img", "aria-label": said },
      svg("rect", {
        class: "sea",
        x: -180 - wide,
        y: -90 - half,
        width: 360 + 2 * wide,
        height: 180 + 2 * half,
      }),
      outlines.map(({ d }) => svg("path", { class: "land", d, "stroke-width": unit * 0.5 })),
      radius !== undefined &&
        svg("ellipse", {
          class: "radius",
          cx: longitude,
          cy: -latitude,
          rx: radius / DEGREE / narrow,
          ry: radius / DEGREE,
          "stroke-width": unit,
        }),
      svg("circle", {
        class: "point",
        cx: longitude,
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
    h("figcaption", {}, title),
    svg(
      "svg",
      { viewBox: `-170 -${84 + MARGIN} 350 142`, role: "img", "aria-label": title },
      outlines.map(({ code, name, d }) => {
        const n = counts.get(code) ?? 0;
        const shade = n === 0 ? 0 : 1 + Math.min(4, Math.floor((5 * Math.log1p(n)) / Math.log1p(most)));
        return svg(
          "path",
          { class: `land shade-${shade}`, d, "stroke-width": 0.3 },
          svg("title", {}, `${name}: ${n.toLocaleString("en-US")}`),
        );
      }),
    ),
  );
}
