// Keyed items of a store: named JSON values. Each version of an item is a memory.

import Type, { type Static } from 'typebox'
import {
  about,
  boolean,
  Count,
  count,
  Hex16,
  integer,
  JsonObject,
  Nullable,
  number,
  OptionalNullable,
  pathId,
  Ref,
  Timestamp,
  text,
  time,
} from '../core/common.ts'
import { limits } from '../core/limits.ts'
import { operation } from '../core/operation.ts'
import { expiryFields, ItemIndex, ItemKey, ItemNamespace } from './memory-records.ts'

const StoreParams = Type.Object({ store_id: pathId({ examples: ['default'] }) })

const ofStore = { access: 'tenant', params: StoreParams, status: 200 } as const
const read = { ...ofStore, method: 'POST', scope: 'memory:read', safe: true } as const
const write = { ...ofStore, method: 'POST', scope: 'memory:write' } as const

const nameFields = {
  namespace: about(ItemNamespace, 'Namespace of the item; an empty list is the root'),
  key: about(ItemKey, 'Key of the item'),
}

const Item = Type.Object(
  {
    ...nameFields,
    value: about(JsonObject, 'The value that was put'),
    ref: about(Ref, 'The memory that is this version of the item'),
    created_at: time('When the name was first put'),
    updated_at: time('When this version was put'),
    expires_at: Nullable(time('When the item expires; null: never')),
  },
  { title: 'Item', description: 'One version of an item' },
)
export type Item = Static<typeof Item>

const ItemMatch = Type.Object(
  {
    ...Item.properties,
    score: Type.Optional(number('How well it fits the query; only in a search with one')),
  },
  { title: 'ItemMatch', description: 'An item that a search found' },
)
export type ItemMatch = Static<typeof ItemMatch>

const putFields = {
  ...nameFields,
  value: about(JsonObject, 'The value: up to 256 KiB of JSON'),
  index: Type.Optional(ItemIndex),
  if_ref: Type.Optional(
    about(Ref, 'Puts only if this memory is the current version; otherwise 409 `item_changed`'),
  ),
  ...expiryFields,
}
const PutItem = Type.Object(putFields)
export type PutItem = Static<typeof PutItem>

const PutResult = Type.Object(
  {
    ref: about(Ref, 'The memory that is the new version'),
    created: boolean('Whether there was no item of this name'),
    created_at: Timestamp,
    updated_at: Timestamp,
    log_seq: Count,
  },
  { title: 'PutResult', description: 'What a put has stored' },
)
export type PutResult = Static<typeof PutResult>

const getFields = {
  ...nameFields,
  known_at: OptionalNullable(time('Returns the version that was on record at this time')),
}
const GetItem = Type.Object(getFields)
export type GetItem = Static<typeof GetItem>

const GetResult = Type.Object(
  { item: Nullable(about(Item, 'The item; null: there is none of this name')) },
  { title: 'GetResult', description: 'An item, or null' },
)

// No `default`, because in a batch it would be filled in for operations of every kind.
const searchFields = {
  namespace_prefix: about(ItemNamespace, 'Labels that namespaces begin with; empty: every one'),
  query: OptionalNullable(
    text('What to search for; without it, the first put of each namespace comes first'),
  ),
  filter: OptionalNullable(
    about(
      JsonObject,
      'Conditions on top-level members of the value, all of which hold: a value to equal, or an ' +
        'object of `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte` (of numbers), `$in`, `$nin`',
    ),
  ),
  limit: Type.Optional(
    integer(`The most items to return; default: ${limits.item_search.default}`, {
      minimum: limits.item_search.min,
      maximum: limits.item_search.max,
    }),
  ),
  offset: Type.Optional(
    integer('Items to skip; default: 0', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  ),
  budget_tokens: OptionalNullable(
    integer('The most tokens of the values together; what does not fit is left out', {
      minimum: 0,
      maximum: limits.budget_tokens,
    }),
  ),
}
const SearchItems = Type.Object(searchFields)
export type SearchItems = Static<typeof SearchItems>

const SearchResult = Type.Object(
  { items: Type.Array(ItemMatch, { description: 'The items of this page' }) },
  { title: 'ItemSearchResult', description: 'The items that a search found' },
)

const deleteFields = nameFields
const DeleteItem = Type.Object(deleteFields)
export type DeleteItem = Static<typeof DeleteItem>

const DeleteResult = Type.Object(
  {
    deleted: boolean('Whether there was an item of this name, or versions left of one'),
    certificate_ids: Type.Array(Hex16, {
      description: 'Ids of the erasure certificates, of the oldest version first',
    }),
  },
  { title: 'ItemDeleteResult', description: 'What a deletion has erased' },
)
export type DeleteResult = Static<typeof DeleteResult>

const namespacesFields = {
  prefix: OptionalNullable(
    about(ItemNamespace, 'Labels the namespaces begin with; `*` stands for any one label'),
  ),
  suffix: OptionalNullable(
    about(ItemNamespace, 'Labels the namespaces end with; `*` stands for any one label'),
  ),
  max_depth: OptionalNullable(
    integer('Cuts longer namespaces to this number of labels', {
      minimum: 1,
      maximum: limits.item_namespace_labels,
    }),
  ),
  limit: Type.Optional(
    integer(`The most namespaces to return; default: ${limits.page.default}`, {
      minimum: limits.page.min,
      maximum: limits.page.max,
    }),
  ),
  offset: Type.Optional(
    integer('Namespaces to skip; default: 0', { minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  ),
}
const ListNamespaces = Type.Object(namespacesFields)
export type ListNamespaces = Static<typeof ListNamespaces>

const NamespacesResult = Type.Object(
  { namespaces: Type.Array(ItemNamespace, { description: 'The namespaces of this page' }) },
  { title: 'ItemNamespacesResult', description: 'Namespaces that have an item' },
)

const POLICY_REFUSALS = ['policy_denied', 'approval_required', 'store_not_found'] as const
const CHANGE_REFUSALS = [
  ...POLICY_REFUSALS,
  'store_deleting',
  'no_signing_key',
  'idempotency_key_reused',
  'capability_not_supported',
] as const
const PUT_REFUSALS = ['rejected', 'quota_exceeded', 'item_changed', 'erasing'] as const

/** One operation of a batch. */
const BatchOperation = Type.Union([
  Type.Object({ op: Type.Literal('put', { description: 'As `items.put`' }), ...putFields }),
  Type.Object({ op: Type.Literal('get', { description: 'As `items.get`' }), ...getFields }),
  Type.Object({
    op: Type.Literal('search', { description: 'As `items.search`' }),
    ...searchFields,
  }),
  Type.Object({
    op: Type.Literal('delete', { description: 'As `items.delete`' }),
    ...deleteFields,
  }),
  Type.Object({
    op: Type.Literal('namespaces', { description: 'As `items.namespaces`' }),
    ...namespacesFields,
  }),
])
export type BatchOperation = Static<typeof BatchOperation>

export const items = {
  put: operation({
    ...write,
    id: 'items.put',
    method: 'PUT',
    path: '/v1/stores/{store_id}/items',
    summary: 'Puts a JSON value under a name',
    description:
      'Use it to keep state that is read by name, such as a profile. A put on a name that has an ' +
      'item supersedes it: the old version stays in the history until the item is deleted. Each ' +
      'version is a memory, with the JSON of the value as its content.',
    body: PutItem,
    example: { namespace: ['users', 'u1'], key: 'profile', value: { city: 'Porto' } },
    reply: PutResult,
    refuses: [...CHANGE_REFUSALS, ...PUT_REFUSALS],
    idempotent: true,
  }),
  get: operation({
    ...read,
    id: 'items.get',
    path: '/v1/stores/{store_id}/items/get',
    summary: 'Returns the item of a name',
    description:
      'Use it to read a value whose name is known. `known_at` returns the version that was on ' +
      'record at that time, unless it has been erased since.',
    body: GetItem,
    example: { namespace: ['users', 'u1'], key: 'profile' },
    reply: GetResult,
    refuses: [...POLICY_REFUSALS, 'capability_not_supported'],
  }),
  search: operation({
    ...read,
    id: 'items.search',
    path: '/v1/stores/{store_id}/items/search',
    summary: 'Searches the current items of the namespaces with a prefix',
    description:
      'Use it to find items by what they say, by members of their values, or to list them. Only ' +
      'current versions are found.',
    body: SearchItems,
    example: { namespace_prefix: ['users'], query: 'who lives in Porto', limit: 5 },
    reply: SearchResult,
    refuses: [...POLICY_REFUSALS, 'index_building'],
  }),
  delete: operation({
    ...write,
    id: 'items.delete',
    path: '/v1/stores/{store_id}/items/delete',
    summary: 'Erases every version of an item and certifies each',
    description:
      'Use it to forget an item. `deleted` is false, without certificates, if there is none of ' +
      'this name.',
    body: DeleteItem,
    example: { namespace: ['users', 'u1'], key: 'profile' },
    reply: DeleteResult,
    refuses: [...CHANGE_REFUSALS, 'legal_hold'],
    idempotent: true,
  }),
  namespaces: operation({
    ...read,
    id: 'items.namespaces',
    path: '/v1/stores/{store_id}/items/namespaces',
    summary: 'Lists the namespaces that have an item, in alphabetical order',
    description: 'Use it to see which users, sessions or topics a store has items of.',
    body: ListNamespaces,
    example: { prefix: ['users'], max_depth: 2 },
    reply: NamespacesResult,
    refuses: POLICY_REFUSALS,
  }),
  batch: operation({
    ...write,
    id: 'items.batch',
    path: '/v1/stores/{store_id}/items/batch',
    summary: 'Runs up to 100 operations on items',
    description:
      'Use it where several operations belong together. Reads see the items before the batch. ' +
      'Its puts commit together with the hiding of what it deletes, or not at all. Of several ' +
      'puts and deletions of one name the last one holds, and the others have its result or an ' +
      'empty one.',
    body: Type.Object({
      operations: Type.Array(BatchOperation, {
        maxItems: limits.item_batch_operations,
        description: 'The operations',
      }),
    }),
    example: {
      operations: [
        { op: 'put', namespace: ['users', 'u1'], key: 'tea', value: { likes: true } },
        { op: 'get', namespace: ['users', 'u1'], key: 'profile' },
      ],
    },
    reply: Type.Object({
      results: Type.Array(
        Type.Union([PutResult, GetResult, SearchResult, DeleteResult, NamespacesResult]),
        { description: 'The reply of each operation, in the order of `operations`' },
      ),
      count: count('Number of results'),
    }),
    refuses: [...CHANGE_REFUSALS, ...PUT_REFUSALS, 'legal_hold', 'index_building'],
    idempotent: true,
  }),
} as const
