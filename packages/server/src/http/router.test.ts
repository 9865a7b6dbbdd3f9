import { expect, test } from "bun:test";
import { PathTemplate, Router } from "./router.ts";

const routes = [
  { path: new PathTemplate("/keys/{id}", "key_\\d") },
  { path: new PathTemplate("/keys/{id}/rotate", "key_\\d") },
  { path: new PathTemplate("/keys/export"), alias: "/export" },
  { path: new PathTemplate("/files/{name}") },
];
const router = new Router(routes);

test.each([
  ["/keys/key_1", "/keys/{id}", "key_1"],
  ["/keys/key_1/rotate", "/keys/{id}/rotate", "key_1"],
  ["/keys/export", "/keys/export", ""],
  ["/export", "/keys/export", ""],
  ["/files/a%2Fb", "/files/{name}", "a%2Fb"],
])("%s is %s with the value %s", (path, template, value) => {
  const found = router.find(path)!;
  expect([found.path.text, found.path.valueOf(path)]).toEqual([template, value]);
});

test.each([
  "",
  "/",
  "/keys",
  "/keys/",
  "/keys/key_1/",
  "/keys/key_12",
  "/keys/key_1/rotate/",
  "/keys//rotate",
  "/keys/x/rotate",
  "/keys/%6Bey_1",
  "/files/",
  "/files/a/b",
  "/Files/a",
])("nothing is at %p", (path) => expect(router.find(path)).toBeUndefined());
