// lazy-map.tsx: loads map.tsx when a map is first shown, and keeps its space free meanwhile.

import type { VNode } from "preact";
import { useLoad } from "../hooks.ts";

type Maps = typeof import("./map.tsx");

export function LazyMap({ children }: { children: (maps: Maps) => VNode }) {
  const { data, error } = useLoad(() => import("./map.tsx"), []);
  if (data) return children(data);
  return <p class="map-space faint">{error ? "The map cannot be loaded: reload this page." : ""}</p>;
}
