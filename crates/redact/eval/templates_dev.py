"""Templates that may be looked at while the engine is changed."""

TEXT = [
    "Patient: {name}\nDOB: {dob}   MRN: {mrn}\nAdmitted {date} to room {room} with community-acquired pneumonia. Started on ceftriaxone 1 g IV daily and azithromycin 500 mg. WBC 14.2, BP 132/78, O2 sat 94% on 2 L. Wife {relative} at bedside, phone {phone}. Dr. {doctor_last} will follow.",
    "DISCHARGE SUMMARY\nName: {name}\nAddress: {address}\nHospital course: The patient is a {old_age}-year-old with CHF exacerbation, EF 35%, treated with furosemide 40 mg BID. {first} tolerated diuresis well; weight down 4 kg. Follow up with {doctor}, MD on {date}. Pharmacy fax {fax}.",
    "Nursing note: {first} {last} slept poorly. Pain 6/10 in left hip, given oxycodone 5 mg at 0230. Daughter {relative_first} called from {city} asking about discharge. Skin intact, Braden 17. Will continue to monitor. - {nurse}, RN",
    "Dear {name},\n\nYour mammogram of {date} was normal. Please call {phone} or write to {email} with questions. Your member ID {plan} is on file.\n\nSincerely,\nDr. {doctor}",
    "Phone encounter {date}. Caller: {relative} (son). Reports that {name} fell at home, {street}, {zip} {city}. No loss of consciousness. Advised to go to the emergency department. SSN {ssn} verified, account number {account}.",
    "Consult requested by Dr. {doctor} for {name}, MRN {mrn}. Pacemaker serial number {device} interrogated on {date}; battery 7 years. Threshold 0.75 V. Driver's license {licence}. Portal visit from {ip}.",
    "{name} was seen in clinic today for type 2 diabetes. A1c 8.1%, metformin increased to 1000 mg twice daily. Denies chest pain, dyspnea, or edema. Lives with her brother {relative} in {city}. RTC 3 months.",
    "Incident: vehicle with plate {plate} (VIN {vin}) struck the ambulance bay. Driver {name}, born {dob}, refused evaluation. Contact: {phone}. Photos at {url}.",
    "Home visit at {street}, {city}. {first} uses a walker; the caregiver {relative} was present. Record no. {mrn}. Wound 2 x 3 cm, dressing changed.",
    "Transfer from {city}: {name}, chart {mrn}, lives at {address}. Septic shock, lactate 4.2, norepinephrine running. Brother {relative_first} informed.",
    "Mailing address: {street}, {zip}, {city}. Emergency contact is {relative} of {city}. Medical record number {mrn}. No known drug allergies.",
    "Psych: {first} is tearful, reports poor appetite and insomnia since {date}. PHQ-9 score 18. Started sertraline 50 mg. Safety plan reviewed with mother {relative}. Case number {case}.",
    "Lab report for {last}, {first} | DOB {dob} | specimen {case}\nGlucose 112 mg/dL, Na 138, K 4.1, Cr 0.9, ALT 22. Results faxed to {fax}. Reviewed by {doctor}.",
    "Message left at {spoken_phone} for {name}. Payload: {hidden}",
    "Assessment and Plan: 1. Acute kidney injury - hold lisinopril, gentle hydration. 2. Anemia - iron studies, transfuse if Hgb < 7. 3. Disposition - {relative} will pick up {first} on {date}. Discussed with {doctor}.",
]

JSON = [
    {"patient": {"first_name": "{first}", "last_name": "{last}", "birth_date": "{dob}", "mrn": "{mrn}"}, "vitals": {"hr": 72, "bp": "120/80"}, "note": "Seen by Dr. {doctor_last} on {date} for cough and fever. {first} improved on amoxicillin."},
    {"resident": "{name}", "roomNumber": "{room}", "contact": {"phone": "{phone}", "email": "{email}", "address": {"street": "{street}", "city": "{city}", "zip": "{zip}"}}, "diagnoses": ["hypertension", "type 2 diabetes"], "medications": ["metformin 500 mg"]},
    {"claims": [{"memberId": "{plan}", "subscriber": "{name}", "account": "{account}", "status": "approved"}], "device": {"serial": "{device}", "ip": "{ip}"}},
]
