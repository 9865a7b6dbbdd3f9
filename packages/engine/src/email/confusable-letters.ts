// confusable-letters.ts: letters of domain names that look like an ASCII letter or digit.
//
// Made by scripts/confusables.ts; do not edit.
// src  Unicode 13.0.0, security/confusables.txt: the characters that UTS #46 keeps in a name
// SPDX-License-Identifier: Unicode-DFS-2016
// Copyright © 1991-2022 Unicode, Inc. All rights reserved. NOTICE names the licence in full.

export const LOOK_ALIKES: Readonly<Record<string, string>> = {
  "2": "\u{14bf}",
  "3": "\u{16f3b}\u{118ca}",
  "4": "\u{13ce}",
  "6": "\u{431}\u{13ee}\u{118d5}",
  "7": "\u{118c6}",
  "8": "\u{9ea}\u{a6a}\u{223}\u{1031a}",
  "9": "\u{a67}\u{b68}\u{9ed}\u{d6d}\u{118cc}\u{118d6}",
  a: "\u{251}\u{3b1}\u{430}\u{13aa}\u{15c5}\u{a4ee}\u{16f40}\u{102a0}",
  b: "\u{13cf}\u{1472}\u{15af}\u{13f4}\u{15f7}\u{a4d0}\u{10282}\u{102a1}\u{10301}",
  c: "\u{1d04}\u{2ca5}\u{441}\u{1043d}\u{118e9}\u{13df}\u{a4da}\u{102a2}\u{10302}\u{1051c}",
  d: "\u{501}\u{13e7}\u{146f}\u{a4d2}\u{13a0}\u{15de}\u{15ea}\u{a4d3}",
  e: "\u{ab32}\u{435}\u{4bd}\u{2d39}\u{13ac}\u{a4f0}\u{10286}",
  f: "\u{ab35}\u{a799}\u{1e9d}\u{584}\u{15b4}\u{a4dd}\u{118c2}\u{10287}\u{102a5}\u{10525}",
  g: "\u{261}\u{1d83}\u{18d}\u{581}\u{13c0}\u{13f3}\u{a4d6}",
  h: "\u{4bb}\u{570}\u{13c2}\u{13bb}\u{157c}\u{a4e7}\u{102cf}",
  i: "\u{131}\u{26a}\u{269}\u{3b9}\u{456}\u{a647}\u{4cf}\u{13a5}\u{118c3}",
  j: "\u{3f3}\u{458}\u{13ab}\u{148d}\u{a4d9}",
  k: "\u{13e6}\u{16d5}\u{a4d7}\u{10518}",
  l: "\u{6f1}\u{1c0}\u{2d4f}\u{16c1}\u{a4f2}\u{16f28}\u{1028a}\u{10309}\u{13de}\u{14aa}\u{a4e1}\u{16f16}\u{10526}",
  m: "\u{13b7}\u{15f0}\u{16d6}\u{a4df}\u{102b0}\u{10311}",
  n: "\u{578}\u{57c}\u{a4e0}\u{10513}",
  o: "\u{966}\u{a66}\u{ae6}\u{be6}\u{c66}\u{ce6}\u{d66}\u{e50}\u{ed0}\u{1040}\u{6f5}\u{1d0f}\u{1d11}\u{ab3d}\u{3bf}\u{3c3}\u{2c9f}\u{43e}\u{10ff}\u{585}\u{d20}\u{101d}\u{104ea}\u{118c8}\u{118d7}\u{1042c}\u{9e6}\u{b66}\u{114d0}\u{118e0}\u{2d54}\u{12d0}\u{b20}\u{a4f3}\u{10292}\u{102ab}\u{10516}",
  p: "\u{3c1}\u{2ca3}\u{440}\u{13e2}\u{146d}\u{a4d1}\u{10295}",
  q: "\u{51b}\u{563}\u{566}\u{2d55}",
  r: "\u{ab47}\u{ab48}\u{1d26}\u{2c85}\u{433}\u{13a1}\u{13d2}\u{1587}\u{a4e3}\u{16f35}",
  s: "\u{a731}\u{1bd}\u{455}\u{118c1}\u{10448}\u{13d5}\u{13da}\u{a4e2}\u{16f3a}\u{10296}",
  t: "\u{13a2}\u{a4d4}\u{16f0a}\u{10297}\u{102b1}\u{10315}",
  u: "\u{a79f}\u{1d1c}\u{ab4e}\u{ab52}\u{28b}\u{3c5}\u{57d}\u{104f6}\u{118d8}\u{1200}\u{144c}\u{a4f4}\u{16f42}",
  v: "\u{1d20}\u{3bd}\u{475}\u{11706}\u{118c0}\u{6f7}\u{2d38}\u{13d9}\u{142f}\u{a6df}\u{a4e6}\u{16f08}\u{1051d}",
  w: "\u{26f}\u{1d21}\u{461}\u{51d}\u{561}\u{1170a}\u{1170e}\u{1170f}\u{118e6}\u{13b3}\u{13d4}\u{a4ea}",
  x: "\u{445}\u{1541}\u{157d}\u{2d5d}\u{16b7}\u{a4eb}\u{10290}\u{102b4}\u{10317}\u{10527}",
  y: "\u{263}\u{1d8c}\u{28f}\u{1eff}\u{ab5a}\u{3b3}\u{443}\u{4af}\u{10e7}\u{118dc}\u{13a9}\u{13bd}\u{a4ec}\u{16f43}\u{102b2}",
  z: "\u{1d22}\u{118c4}\u{118e5}\u{13c3}\u{a4dc}",
};
