// archive-names.ts: distinguishes the data file in an archive from licences and read-me files.

import { FeedError } from "../catalog/feed.ts";

const DATA = /\.(csv|mmdb|txt|json|jsonl|ipset|netset|conf)$/i;
const BESIDE = /(^|[^a-z])(licen[cs]e|readme|copyright|notice)/i;

export const isDataFile = (name: string): boolean => DATA.test(name) && !BESIDE.test(name.split("/").at(-1)!);

export const noFile = () => new FeedError("is an archive without a data file");

export const severalFiles = () => new FeedError("is an archive with several data files");
