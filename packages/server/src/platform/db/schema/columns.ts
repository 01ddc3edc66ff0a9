// Columns of tables: their type, and why they keep no erased content.

/** The kind of content in a text or blob column. Numbers hold no content. */
type Privacy =
  /** Ciphertext under a key that erasing destroys. */
  | 'sealed'
  /** A hash, a tree node, an HMAC or a commitment under a salt that is itself sealed. */
  | 'digest'
  /** An id, a name or a number that this service made. */
  | 'minted'
  /** One of a closed list of words. */
  | 'enum'
  /** A word a caller chose to address things by; documented as kept. */
  | 'caller_label'
  /** Structured text with members of the kinds above only, by a closed schema. */
  | 'composed'

/** The content of a column and, unless it is plain, how an erasure treats it. */
interface Content {
  readonly privacy: Privacy
  readonly about: string
}

/** `V`: the type of its values in a row. */
export class Column<V> {
  declare readonly value: V
  readonly type: 'text' | 'int' | 'real' | 'blob'
  readonly nullable: boolean
  /** Null for a number. */
  readonly content: Content | null

  constructor(type: Column<V>['type'], content: Content | null, nullable = false) {
    this.type = type
    this.content = content
    this.nullable = nullable
  }
}

export const text = <V extends string = string>(privacy: Privacy, about: string): Column<V> =>
  new Column('text', { privacy, about })

export const blob = (privacy: Privacy, about: string): Column<Uint8Array> =>
  new Column('blob', { privacy, about })

export const integer: Column<number> = new Column('int', null)
export const real: Column<number> = new Column('real', null)
export const tenantId = text('minted', 'tenant id')

export const nullable = <V>({ type, content }: Column<V>): Column<V | null> =>
  new Column(type, content, true)

export type TableColumns = Readonly<Record<string, Column<unknown>>>

export type RowsOf<T extends Readonly<Record<string, TableColumns>>> = {
  [K in keyof T]: { [C in keyof T[K]]: T[K][C]['value'] }
}
