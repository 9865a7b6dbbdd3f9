// values.ts: the values from which requests.ts creates requests, as words separated by white space.

const words = (text: string): readonly string[] => text.trim().split(/\s+/);

/** Addresses around the special-use networks. */
export const SPECIAL = words(`
  0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.63.255.255 100.128.0.0 127.0.0.1 169.254.1.1 172.15.255.255
  172.16.0.0 172.31.255.255 172.32.0.0 192.0.0.1 192.0.1.1 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1
  192.168.255.255 192.175.48.1 198.17.255.255 198.18.0.0 198.19.255.255 198.20.0.0 198.51.100.1 203.0.113.1
  223.255.255.255 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1 ::2 ::ffff:10.0.0.1
  ::ffff:0:1.2.3.4 64:ff9b::8.8.8.8 64:ff9b::10.0.0.1 64:ff9b:1::1 100::1 100:0:0:1::1 2001::1 2001:20::1
  2001:db8::1 2002:0a00:0001:: 2002:5102:458e::1 2001:0:4136:e378:8000:63bf:ae10:58d0 3fff::1 3fff:1000::1
  5f00::1 fc00::1 fdff::1 fe80::1 fe80::1%eth0 fec0::1 ff02::1 ::81.2.69.142 2620:4f:8000::1 2001:4:112::1
  2001:3::1
`);

/** Texts that are no address, or an unusual one, percent-encoded. */
export const MALFORMED_ADDRESSES = words(`
  1 1.2 1.2.3 127.1 1.2.3.4.5 01.2.3.4 1.2.3.04 0x7f.0.0.1 256.1.1.1 1.2.3.-4 1.2.3.4%20 %201.2.3.4
  1.2.3.4%3A80 1.2.3.4%2F24 %5B2001%3A%3A1%5D %3A%3Affff%3A1.2.3 %3A%3Affff%3A01.2.3.4 %3A%3A%3A
  1%3A%3A2%3A%3A3 12345%3A%3A 1%3A2%3A3%3A4%3A5%3A6%3A7 1%3A2%3A3%3A4%3A5%3A6%3A7%3A8%3A9
  1%3A2%3A3%3A4%3A5%3A6%3A7%3A8 1%3A2%3A3%3A4%3A5%3A6%3A7%3A%3A %3A%3A2%3A3%3A4%3A5%3A6%3A7%3A8 g%3A%3A1
  2a01%3A%3A%2525 2a01%3A4F8%3A%3AA 2A01%3A04f8%3A0000%3A0000%3A0000%3A0000%3A0000%3A000a
  2a01%3A4f8%3A%3A00001 me ME Me localhost 1e1.1.1.1 %D9%A1.%D9%A2.%D9%A3.%D9%A4 %EF%BC%98.8.8.8
  8%E3%80%828.8.8 8.8.8.8%00 8.8.8.8%0A null undefined 2a01%3A4f8%3A1%3A2%3A%3A1.2.3.4 -1 %3A%3Ag
`);

/** Valid and invalid email addresses, percent-encoded. */
export const EMAILS = words(`
  jane%40gmail.com Jane.Doe%2Bnews%40GMail.com jane%2B%40gmail.com %2Bx%40gmail.com %22a%20b%22%40gmail.com
  %22a%5C%22b%22%40gmail.com a%40b a%40b.c a%40co.uk a%40example.com a%40localhost a%40sub.example.co.uk
  %40gmail.com a%40 a a%40%40b.com a%40b%40c.com a%20b%40c.com .a%40c.com a.%40c.com a..b%40c.com a%40.com
  a%40c.com. a%40c..com a%40-c.com a%40c-.com a%40%5B192.0.2.1%5D a%40%5BIPv6%3A2001%3Adb8%3A%3A1%5D
  a%408.8.8.8 %C3%BC%40b%C3%BCcher.de a%40xn--bcher-kva.de a%40B%C3%9CCHER.de a%40bu%CC%88cher.de
  a%40m%C3%BCnchen.com a%40%D0%BF%D1%80%D0%B8%D0%BC%D0%B5%D1%80.com a%40xn-- a%40xn--a
  a%40%E4%BE%8B%E3%81%88.jp a%40b%E3%80%82com a%40%EF%BD%87mail.com a%40our-shop.com a%40x.our-shop.com
  b%40service-four.com a%40throwaway.example a%40mail.throwaway.example a%40freemail.example
  a%40relay.example postmaster%40gmail.com no-reply%40gmial.com jane%2Bshop%40hotmial.com
  users-request%40gmail.com a%2Fb%40gmail.com a%25b%40gmail.com a%3Fb%40gmail.com a%23b%40gmail.com
  a%26b%3Dc%40gmail.com %3Ca%40gmail.com%3E a%40gmail.com%0A a%00%40gmail.com a%7F%40gmail.com
  a%E2%80%8B%40gmail.com %F0%9F%98%80%40gmail.com
  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%40gmail.com
  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa%40gmail.com
  a%40bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.com
  a%40bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb.com me a%40test a%40a.test
  a%40a.invalid a%40a.onion a%40a.arpa a%40com a%40github.io a%40x.github.io
`);

/** Last parts of paths, as they are sent. */
export const SEGMENTS = words(String.raw`
  % %4 %zz %00 %FF %C0%AF %E2%82 %F0%9F%98%80 %38.8.8.8 8%2E8%2E8%2E8 8.8.8.8%20 +8.8.8.8 8.8.8.8;x 8.8.8.8/
  8.8.8.8%2F 8.8.8.8// /8.8.8.8 ../reputation/8.8.8.8 ./8.8.8.8 %2e%2e/8.8.8.8 a%40gmail.com a%2Bb@gmail.com
  a+b@gmail.com %22a%22@gmail.com a%252Fb@gmail.com %6d%65 m%65 2a01%3A4f8::1 8.8.8.8#x \8.8.8.8
`);

/** Queries, as they are sent. */
export const QUERIES = words(`
  ? ?& ?x ?x=1 ?include ?include= ?include=evidence ?include=evidence& ?&include=evidence ?include=Evidence
  ?Include=evidence ?include=evidence&include=evidence ?include=evidence&x=1 ?include=network
  ?include=evidence,network ?%69nclude=%65vidence ?include=evidence%00 ?include=%FF ?include=evidence#x
  ?checks=mx ?checks=mx&include=evidence ?checks=dns ?include=evidence?include=evidence ?=evidence
  ?include=subject ?include=subject,network,evidence ?include=network,network ?include=network,
  ?include==evidence ?include=evidence+ ?include%3Devidence
`);

export const METHODS = words("HEAD POST PUT PATCH DELETE OPTIONS TRACE");

/** Paths, with and without a route. */
export const PATHS = words(`
  / /v1 /v1/ /v1/status /v1/status/ /V1/status /healthz /healthz/ /readyz /openapi.json /docs /docs/
  /docs/errors /docs/swagger-ui.css /docs/start.js /docs/index.html /docs/../status /metrics /admin/v1/keys
  /favicon.ico // /v1//status /v1/ip-intel/geolocate/ /v1/ip-intel/reputation/ /v1/user-intel/email/
  /v1/ip-intel/geolocate /v1/ip-intel/reputation /v1/user-intel/email /v1/ip-intel /v1/ip-intel/
  /v1/ip-intel/network/8.8.8.8 /v1/assess /robots.txt /.well-known/security.txt /%76%31/status *
`);

/** Values of X-Forwarded-For. */
export const FORWARDED = [
  ...["81.2.69.142", "10.9.9.9, 81.2.69.142", "81.2.69.142, 10.0.0.1", "8.8.8.8, 81.2.69.10, 127.0.0.1"],
  ...["2a01:4f8::1", "[2a01:4f8::1]", "[2a01:4f8::1]:443", "81.2.69.142:1234", "::ffff:81.2.69.10"],
  ...["unknown", "", ",", "10.0.0.1", "192.168.0.1", "_hidden", " 81.2.69.142 ", "81.2.69.142,"],
  ...["nonsense, 81.2.69.142", "81.2.69.142, nonsense"],
];
