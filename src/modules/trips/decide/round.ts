/** A positive number rounded up to two significant digits. */
export function roundedUp(value: number): number {
  if (value <= 0) return 0;
  const step = 10 ** (Math.floor(Math.log10(value)) - 1);
  const digits = Math.ceil(value / step - 1e-9);
  // Division by a whole power of ten is exact where multiplying by a fraction is not.
  return step < 1 ? digits / Math.round(1 / step) : digits * step;
}
