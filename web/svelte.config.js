// Svelte 5 in runes mode, in every file.
export default { compilerOptions: { runes: true } };
