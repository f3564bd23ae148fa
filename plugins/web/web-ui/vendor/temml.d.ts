export function tree(tex: string, options: object): any;
