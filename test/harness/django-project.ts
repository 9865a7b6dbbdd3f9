// django-project.ts: the project that the Django recipe of packages/python/README.md begins with, as its commands create it.

import { run } from "./published-packages.ts";

/** The page adds to files of this project, so append its blocks to them. */
export async function createDjangoProject(folder: string, python: string): Promise<void> {
  await run([python, "-m", "django", "startproject", "shop", "."], folder);
  await run([python, "manage.py", "startapp", "accounts"], folder);
}
