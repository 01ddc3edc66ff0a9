// Typed arrays that grow with the slots of a partition.

type Column = Float64Array | Uint32Array | Int32Array | Uint8Array

/** By half: what is held in vain stays small. */
const roomFor = (slots: number): number => slots + (slots >>> 1) + 16

/** The column itself where `slot` is in it, else a longer copy; new places hold `fill`. */
export function grown<C extends Column>(column: C, slot: number, fill = 0): C {
  if (slot < column.length) return column
  const Kind = column.constructor as new (length: number) => C
  const longer = new Kind(roomFor(slot))
  longer.set(column)
  if (fill !== 0) longer.fill(fill, column.length)
  return longer
}
