/** Any value that JSON can carry. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json | undefined };

/** A JSON object, the shape of free-form fields such as a result. */
export type JsonObject = { [key: string]: Json | undefined };
