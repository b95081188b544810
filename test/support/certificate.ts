// A self-signed certificate for tests, valid from 2020 to 2126; its key is public and guards nothing.

/** The only name that the certificate stands for. */
export const certificateName = "hooks.acme.com";

export const certificate = `-----BEGIN CERTIFICATE-----
MIIBUDCB96ADAgECAgEBMAoGCCqGSM49BAMCMBkxFzAVBgNVBAMMDmhvb2tzLmFj
bWUuY29tMCAXDTIwMDEwMTAwMDAwMFoYDzIxMjYwMTAxMDAwMDAwWjAZMRcwFQYD
VQQDDA5ob29rcy5hY21lLmNvbTBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDqf
AO6ts0LqITT1XNAZNLwDe6dGXLZBgcG++1LHIpsNoilmYWuZyCVWqPQB7zv0cGko
kMoFGWwxKYQzw2YcXz+jLjAsMA8GA1UdEwEB/wQFMAMBAf8wGQYDVR0RBBIwEIIO
aG9va3MuYWNtZS5jb20wCgYIKoZIzj0EAwIDSAAwRQIhANnnOe9t5zn75RBwHNAi
jUZfGbDpvqsuHuEjoQ45Cr3rAiA7xEz61KPKnAL/yY4RWY3zyYXfQqofvc/DsPKz
TH96Pg==
-----END CERTIFICATE-----
`;

export const certificateKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgCCyIM8cBfKfesTP9
x2bdmlqbj/z0q2pbxgMKK+/rIEuhRANCAAQ6nwDurbNC6iE09VzQGTS8A3unRly2
QYHBvvtSxyKbDaIpZmFrmcglVqj0Ae879HBpKJDKBRlsMSmEM8NmHF8/
-----END PRIVATE KEY-----
`;
