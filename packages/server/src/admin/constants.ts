// constants.ts: path and body limits of the admin API; the only file of it that the start of a server loads.

export const ADMIN_PATH = "/admin/v1/";
/** Of any body but a file of overrides. */
export const MAX_BODY_BYTES = 16 * 1024;
/** A file of as many overrides as there may be; the listener takes no more. */
export const MAX_IMPORT_BYTES = 16 * 1024 * 1024;
