const needed = { major: 22, minor: 19 };
export async function startOnCurrentNode(start) {
    const tooOld = whyTooOld(process.versions.node);
    if (tooOld === undefined)
        return start();
    console.error(tooOld);
    process.exitCode = 1;
}
export function whyTooOld(version) {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major > needed.major || (major === needed.major && minor >= needed.minor))
        return undefined;
    return (`Rollout Gate needs Node ${needed.major}.${needed.minor} or newer (this is v${version}). ` +
        'Update Node. In a workflow, Rollout Gate runs on Node 24, which every runner since 2.327.1 contains.');
}
