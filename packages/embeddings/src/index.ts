// The public interface: the bundled embedding model and its parts.
export { DIMENSIONS, loadModel, MODEL, parseBundled, VERSION } from './bundled.ts'
export { StaticModel } from './static-model.ts'
export { Tokenizer } from './tokenizer.ts'
