//! RSA keys for token signatures and the blueprint's certificate.
//!
//! Entra signs with RS256 and its clients assert with RS256 or PS256, so RSA it must be; `ring`
//! signs and verifies but makes no keys, and the crate that does carries an open advisory on
//! decryption, which is not needed here. So the key is made here: two primes and their DER.

use num_bigint::BigUint;

use crate::random;

const PRIME_BITS: usize = 1024;
const EXPONENT: u32 = 65_537;
/// Enough for a chance of error below 2^-100 at this size.
const ROUNDS: usize = 12;
const SMALL_PRIMES: [u32; 53] = [
    3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97,
    101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193,
    197, 199, 211, 223, 227, 229, 233, 239, 241, 251,
];

/// A new key of 2048 bits as PKCS #8 DER.
pub(crate) fn generate() -> Vec<u8> {
    let one = BigUint::from(1_u8);
    let exponent = BigUint::from(EXPONENT);
    loop {
        let (p, q) = (prime(), prime());
        // The order makes the coefficient below 1/q mod p as PKCS #1 wants it.
        let (p, q) = if p > q { (p, q) } else { (q, p) };
        let modulus = &p * &q;
        let totient = (&p - &one) * (&q - &one);
        let (Some(private), Some(coefficient)) = (exponent.modinv(&totient), q.modinv(&p)) else {
            continue;
        };
        if modulus.bits() != 2 * PRIME_BITS as u64 {
            continue;
        }
        let parts = [
            BigUint::ZERO,
            modulus,
            exponent,
            private.clone(),
            p.clone(),
            q.clone(),
            &private % (&p - &one),
            &private % (&q - &one),
            coefficient,
        ];
        let pkcs1 = sequence(&parts.iter().flat_map(integer).collect::<Vec<u8>>());
        let mut body = integer(&BigUint::ZERO);
        // AlgorithmIdentifier of rsaEncryption, RFC 8017 appendix A.
        body.extend([
            0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05,
            0x00,
        ]);
        body.extend(tagged(0x04, &pkcs1));
        return sequence(&body);
    }
}

fn prime() -> BigUint {
    loop {
        let mut raw: [u8; PRIME_BITS / 8] = random::bytes();
        // The two top bits make the product of two primes twice as long; the last makes it odd.
        raw[0] |= 0xc0;
        raw[PRIME_BITS / 8 - 1] |= 1;
        let candidate = BigUint::from_bytes_be(&raw);
        let divisible = SMALL_PRIMES
            .iter()
            .any(|small| &candidate % *small == BigUint::ZERO);
        if !divisible && probably_prime(&candidate) {
            return candidate;
        }
    }
}

/// Miller–Rabin with random bases.
fn probably_prime(candidate: &BigUint) -> bool {
    let one = BigUint::from(1_u8);
    let less_one = candidate - &one;
    let twos = less_one.trailing_zeros().unwrap_or(0);
    let odd = &less_one >> twos;
    (0..ROUNDS).all(|_| {
        let base = BigUint::from_bytes_be(&random::bytes::<64>());
        let mut power = base.modpow(&odd, candidate);
        if power == one || power == less_one {
            return true;
        }
        for _ in 1..twos {
            power = power.modpow(&BigUint::from(2_u8), candidate);
            if power == less_one {
                return true;
            }
        }
        false
    })
}

fn integer(value: &BigUint) -> Vec<u8> {
    let mut bytes = value.to_bytes_be();
    if bytes.first().is_none_or(|first| first & 0x80 != 0) {
        bytes.insert(0, 0);
    }
    tagged(0x02, &bytes)
}

fn sequence(body: &[u8]) -> Vec<u8> {
    tagged(0x30, body)
}

fn tagged(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match body.len() {
        short @ 0..0x80 => out.push(u8::try_from(short).unwrap_or(0)),
        long => {
            let length: Vec<u8> = long
                .to_be_bytes()
                .into_iter()
                .skip_while(|byte| *byte == 0)
                .collect();
            out.push(0x80 | u8::try_from(length.len()).unwrap_or(0));
            out.extend(length);
        }
    }
    out.extend(body);
    out
}

#[cfg(test)]
mod tests {
    use super::{generate, probably_prime};
    use num_bigint::BigUint;
    use ring::signature::RsaKeyPair;

    #[test]
    fn a_made_key_passes_the_signer_s_own_checks() {
        let pair = RsaKeyPair::from_pkcs8(&generate()).expect("a consistent key");
        assert_eq!(pair.public().modulus_len(), 256);
    }

    #[test]
    fn primes_are_told_from_composites() {
        for (number, prime) in [
            (104_729_u32, true),
            (104_730, false),
            (561, false),
            (65_537, true),
        ] {
            if number % 2 == 1 {
                assert_eq!(probably_prime(&BigUint::from(number)), prime, "{number}");
            }
        }
    }
}
